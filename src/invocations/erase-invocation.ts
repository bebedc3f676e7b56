import * as agents from '../agents/store.ts'
import { conflict } from '../errors.ts'
import { withKeyName } from '../keys/key-names.ts'
import * as logs from '../logs/store.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import { eraseRepliesAbout } from '../storage/leases/stored-replies.ts'
import { eraseEventsOfRequest } from '../webhooks/delivery/deliveries-of-user.ts'
import { eraseTexts } from './find-invocations.ts'
import { InvocationParams, isFinal } from './invocation.ts'
import { getInScope } from './invocation-in-scope.ts'
import { presentInvocation, Receipt } from './receipt.ts'
import * as invocations from './store.ts'

export const eraseInvocation = operation({
  id: 'eraseInvocation',
  method: 'DELETE',
  path: '/v1/agents/{agent_id}/invocations/{request_id}',
  summary: 'Erase an invocation',
  description:
    'Removes what was said from an invocation that has ended: message, context, response, results of tools, log entries, callbacks, replies kept for an Idempotency-Key, its events for webhooks, files that came with the message or that its tools made. The receipt stays for accounting, without words and without whose it was. What memory keeps of it is not touched.',
  permission: 'delete',
  audit: { target: 'request_id' },
  userTokens: true,
  errors: ['conflict'],
  params: InvocationParams,
  data: Receipt,

  async run({ params }, { db, actor, newId, now }: Needs<'db' | 'actor' | 'newId' | 'now'>) {
    const agent = await agents.get(db, params.agent_id)
    const found = await getInScope(db, actor, 'write', { agent_seq: agent.seq, id: params.request_id })
    if (!isFinal(found)) throw conflict('The invocation has not ended: cancel it first')
    await logs.removeOfRequests(db, agent.seq, [found.id])
    const removed = await eraseTexts(db, [found], now())
    if (removed > 0) await enqueue(db, { id: newId('job', now()), kind: 'file bytes', run_at: now() })
    await eraseRepliesAbout(db, [found.id])
    await eraseEventsOfRequest(db, found.id)
    const erased = await invocations.get(db, agent.seq, found.id)
    return withKeyName(db, actor, presentInvocation(erased, agent.id), ['created_by'])
  },
})
