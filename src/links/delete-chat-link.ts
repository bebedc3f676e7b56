import { z } from 'zod'
import * as agents from '../agents/store.ts'
import * as budgets from '../budgets/store.ts'
import { cancelStartedBy } from '../invocations/children/child-store.ts'
import * as keys from '../keys/store.ts'
import { operation } from '../operation.ts'
import { LinkParams } from './chat-link.ts'
import * as links from './store.ts'

export const deleteLink = operation({
  id: 'deleteLink',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/links/{link_id}',
  summary: 'Delete a link',
  description:
    "The URL stops working. The runs that its visitors have started are cancelled and their streams end. The visitors' conversations are kept under invocations.",
  access: { permission: 'delete' },
  audit: { target: 'link_id' },
  input: { params: LinkParams },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { db, now }) {
    const { seq } = await agents.get(db, params.agent_id)
    const { id, budget_id } = await links.get(db, params.agent_id, params.link_id)
    // The key stays, so that receipts can name it.
    await keys.update(db, id, { revoked_at: now() })
    await links.remove(db, id)
    if (budget_id !== null) await budgets.remove(db, budget_id)
    await cancelStartedBy(db, { agent_seq: seq, created_by: id }, now())
    return { id, deleted: true as const }
  },
})
