import type { z } from 'zod'
import { presentNow } from '../budgets/budget-in-reach.ts'
import * as budgets from '../budgets/store.ts'
import { withKeyNames } from '../keys/key-names.ts'
import type { Needs } from '../operation/context.ts'
import { covers } from '../security/permissions.ts'
import { type ChatLink, type LinkReply, linkStatus, pathOfLink } from './chat-link.ts'
import * as links from './store.ts'

export type PresentNeeds = Needs<'actor' | 'config' | 'db' | 'keyring' | 'now'>

/** Links as clients see them. Who knows the URL can send messages, so that takes the permission to do so. */
export async function presentLinks(
  found: readonly ChatLink[],
  { actor, config, db, keyring, now }: PresentNeeds,
): Promise<z.input<typeof LinkReply>[]> {
  const uses = await links.usesOf(
    db,
    found.map(({ id }) => id),
  )
  const ids = new Set(found.flatMap(({ budget_id }) => budget_id ?? []))
  const limiting = ids.size === 0 ? new Map<string, never>() : await budgets.listByIds(db, ids)
  const mayInvoke = covers(actor.permissions, 'invoke')
  const shown = found.map(async ({ messages_per_visitor, ...link }) => {
    const { visitors, messages } = uses.get(link.id) ?? { visitors: 0, messages: 0 }
    const stored = limiting.get(link.budget_id ?? '')
    const budget = stored && (await presentNow(db, stored, now()))
    return {
      ...link,
      // A budget can be deleted by itself.
      budget_id: budget?.id ?? null,
      origins: [...link.origins],
      starters: [...link.starters],
      url: mayInvoke ? `${config.server.publicUrl ?? ''}${pathOfLink(link, keyring)}` : null,
      status: linkStatus(link, now()),
      limits: { messages_per_visitor, cost_usd: budget?.limit.cost_usd ?? null },
      used: { visitors, messages, cost_usd: budget?.limit.cost_usd === undefined ? null : budget.used },
    }
  })
  return withKeyNames(db, actor, await Promise.all(shown), ['created_by'])
}

export async function presentLink(link: ChatLink, needs: PresentNeeds): Promise<z.input<typeof LinkReply>> {
  const [shown] = await presentLinks([link], needs)
  return shown as NonNullable<typeof shown>
}
