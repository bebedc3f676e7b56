import * as agents from '../agents/store.ts'
import * as answers from '../answers/store.ts'
import { conflict } from '../errors.ts'
import * as files from '../files/store.ts'
import * as incoming from '../incoming/store.ts'
import { withKeyName } from '../keys/key-names.ts'
import * as logs from '../logs/store.ts'
import { operation } from '../operation.ts'
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
    'Deletes the content of an invocation that has ended: its message, context, response and tool results, its log entries, callbacks and webhook events, the payload of the trigger delivery that started it, and the comments in its feedback. Replies kept for an Idempotency-Key are deleted too, so a repeated request returns 404, and so are files that came with the message or from its tools. The receipt is kept for accounting, without content and without the user; the scores of its feedback are kept too. Memories are not affected.',
  access: { permission: 'delete', userTokens: true },
  audit: { target: 'request_id' },
  transaction: false,
  input: { params: InvocationParams },
  answer: { data: Receipt, errors: ['conflict'] },

  async run({ params }, { db, actor, bytes, now, storage }) {
    const agent = await agents.get(db, params.agent_id)
    const found = await getInScope(db, actor, 'write', { agent_seq: agent.seq, id: params.request_id })
    if (!isFinal(found)) throw conflict('The invocation is still running. Cancel it first.')
    // Files are erased first, so an erased receipt never has files, even if the process dies in between.
    const { failure } = await files.eraseFiles({ storage, bytes }, await files.listOfRequest(db, found.id))
    if (failure) throw failure
    await storage.transaction(async (held) => {
      await logs.removeOfRequests(held, agent.seq, [found.id])
      await eraseTexts(held, [found], now())
      await eraseRepliesAbout(held, [found.id])
      await eraseEventsOfRequest(held, found.id)
      await answers.removeOfRequests(held, [found.id])
      await incoming.eraseOfRequests(held, [found.id])
    })
    const erased = await invocations.get(db, agent.seq, found.id)
    return withKeyName(db, actor, presentInvocation(erased, agent.id), ['created_by'])
  },
})
