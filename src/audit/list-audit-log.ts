import { z } from 'zod'
import { withKeyNames } from '../keys/key-names.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { listQuery, TimeInput } from '../shapes.ts'
import { AuditEntryReply, AuditOutcome } from './audit-entry.ts'
import * as audit from './store.ts'

export const listAuditLog = operation({
  id: 'listAuditLog',
  method: 'GET',
  path: '/v1/audit-log',
  summary: 'List the audit log',
  description:
    'Every change and every refusal. Invocations leave receipts instead. A key that is limited to one agent sees the entries of that agent only.',
  permission: 'manage',
  query: listQuery(['created_at', 'id'], {
    action: z.string().optional().describe('An operationId, such as `deleteAgent`'),
    actor: z.string().optional().describe('The id of a key, or of the owner of a token'),
    agent_id: z.string().optional().describe('An id: the entries outlive the agent'),
    outcome: AuditOutcome.optional(),
    since: TimeInput.optional(),
    until: TimeInput.optional().describe('Exclusive'),
  }),
  concerns: async ({ query }) => query.agent_id ?? null,
  list: AuditEntryReply,

  async run({ query }, { db, actor, shownAgents }: Needs<'db' | 'actor' | 'shownAgents'>) {
    const { limit, offset, sort, ...filter } = query
    const { items, total } = await audit.list(db, { limit, offset, sort }, { shown: await shownAgents(), ...filter })
    return { items: await withKeyNames(db, actor, items, ['actor']), total }
  },
})
