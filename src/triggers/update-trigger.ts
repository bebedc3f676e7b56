import * as agents from '../agents/store.ts'
import { withoutUndefined } from '../lib/without-undefined.ts'
import { requireLasting } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { present } from './present.ts'
import { requireAccess, requireKind, requireSecret } from './require-secret.ts'
import * as triggers from './store.ts'
import { type Trigger, TriggerParams, TriggerReply, UpdateTriggerBody } from './trigger.ts'

type UpdateTriggerNeeds = Needs<'actor' | 'config' | 'db' | 'keyring' | 'now' | 'secrets'>

const MOST_AUTHORS = 100

export const updateTrigger = operation({
  id: 'updateTrigger',
  method: 'PATCH',
  path: '/v1/agents/{agent_id}/triggers/{trigger_id}',
  summary: 'Update a trigger',
  description:
    "Changes only the fields you send. From then on, runs have the permissions of the key that sends this request. A disabled trigger answers every request with 404. Its URL doesn't change.",
  access: { permission: 'write' },
  mfa: { policy: 'invoke' },
  audit: { target: 'trigger_id' },
  idempotent: true,
  input: { params: TriggerParams, body: UpdateTriggerBody },
  answer: { data: TriggerReply, secret: true },

  async run({ params, body }, context: UpdateTriggerNeeds) {
    const { actor, db, now } = context
    requireLasting(actor, 'A trigger')
    const agent = await agents.get(db, params.agent_id)
    await triggers.lock(db, params.trigger_id)
    const trigger = await triggers.get(db, agent.id, params.trigger_id)
    if (body.verify) await requireSecret({ verify: body.verify }, agent.project_id, context)
    const enabled = body.enabled ?? trigger.enabled
    const updated: Trigger = {
      ...trigger,
      ...withoutUndefined(body),
      enabled,
      disabled_reason: enabled ? null : (trigger.disabled_reason ?? 'requested'),
      updated_by: actor.id,
      authors: withAuthor(trigger, actor.id),
      // It always grows, so that a request that was read with the settings before isn't accepted with them.
      updated_at: Math.max(now(), trigger.updated_at + 1),
    }
    requireKind(updated)
    // A trigger whose token is gone can still be changed, for example disabled.
    if (body.slack || body.telegram || body.email) await requireAccess(updated, agent.project_id, context)
    await triggers.update(db, updated)
    return present(db, updated, context)
  },
})

/** If there are many authors, the first and the latest are kept. */
function withAuthor({ created_by, authors }: Trigger, id: string): string[] {
  const others = authors.filter((author) => author !== id && author !== created_by)
  return [...new Set([created_by, ...others.slice(-MOST_AUTHORS), id])]
}
