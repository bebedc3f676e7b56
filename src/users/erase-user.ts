import { z } from 'zod'
import * as agents from '../agents/store.ts'
import { eraseTexts, listOfUser } from '../invocations/find-invocations.ts'
import { isFinal } from '../invocations/invocation.ts'
import * as logs from '../logs/store.ts'
import * as memories from '../memory/store.ts'
import { operation } from '../operation.ts'
import * as schedules from '../schedules/store.ts'
import type { Storage } from '../storage/open-storage.ts'
import { eraseFromEvents } from '../webhooks/delivery/deliveries-of-user.ts'
import { eraseReplies, eraseRepliesOfRuns, type Whose } from './erase-replies.ts'
import { UserParams } from './user-lines.ts'

const count = (what: string) => z.int().describe(what)

export const eraseUser = operation({
  id: 'eraseUser',
  method: 'DELETE',
  path: '/v1/users/{user_id}',
  summary: 'Erase a user',
  description:
    'Erases what the agents in reach of the key know of a user: memory with the summaries of sessions, schedules, the texts of receipts, log entries, events and stored replies. Receipts stay for accounting, without words and without whose they were. If it is interrupted, send it again. It needs a one-time code if one of these agents wants one for `delete` or `clear_memory`.',
  permission: 'delete',
  mfa: 'clear_memory',
  acrossAgents: true,
  transaction: false,
  params: UserParams,
  data: z
    .object({
      memories: count('Forgotten'),
      invocations: count('Receipts without words now'),
      logs: count('Entries removed'),
      events: count('Events without words now'),
      schedules: count('Schedules that asked for this user, deleted'),
      replies: count('Replies kept for an Idempotency-Key, without words now'),
      unfinished: count('Runs under way: send the request again once they have ended'),
    })
    .meta({ id: 'ErasedUser' }),

  async run({ params: { user_id } }, { db, now, storage, shownAgents }) {
    const reach = await shownAgents()
    const shown = await agents.listShown(db, reach)
    const isEverything = reach.only === null && reach.except.length === 0
    // What tells which data is the user's is removed last. If a crash interrupts it, the same request finds the rest.
    const agent_seqs = new Set(shown.map(({ seq }) => seq))
    const agent_ids = new Set(shown.map(({ id }) => id))
    const whose = { user_id, isEverything, agent_seqs, agent_ids }
    const replies = await eraseReplies(db, whose)
    const erased = { memories: 0, invocations: 0, logs: 0, events: 0, schedules: 0, replies, unfinished: 0 }
    for (const { id: agent_id, seq: agent_seq } of shown) {
      erased.schedules += await storage.transaction((held) => schedules.removeOfUser(held, { agent_id, user_id }))
      erased.memories += await forget(storage, { agent_seq, user_id })
      const left = await eraseInvocations(storage, agent_seq, whose, now)
      erased.invocations += left.invocations
      erased.logs += left.logs
      erased.replies += left.replies
      erased.unfinished += left.unfinished
    }
    // Events say themselves whose they are. Those of the runs that were erased above are all stored by now.
    erased.events = await eraseFromEvents(db, whose)
    return erased
  },
})

/** Between two batches others can write. */
const BATCH_SIZE = 500

type Transactions = Pick<Storage, 'db' | 'transaction'>

async function forget(
  { db, transaction }: Transactions,
  scope: { agent_seq: number; user_id: string },
): Promise<number> {
  const which = { scope, through: await memories.newestSeq(db) }
  let forgotten = 0
  for (;;) {
    const seqs = await memories.listSeqs(db, which, BATCH_SIZE)
    if (seqs.length === 0) return forgotten
    forgotten += await transaction((held) => memories.remove(held, seqs))
  }
}

async function eraseInvocations({ db, transaction }: Transactions, agent_seq: number, whose: Whose, now: () => number) {
  const erased = { invocations: 0, logs: 0, replies: 0, unfinished: 0 }
  let last: Parameters<typeof listOfUser>[2]
  for (;;) {
    const invocations = await listOfUser(db, { agent_seq, user_id: whose.user_id }, last)
    const ended = invocations.filter(isFinal)
    erased.unfinished += invocations.length - ended.length
    await transaction(async (held) => {
      const requests = ended.map(({ id }) => id)
      erased.logs += await logs.removeOfRequests(held, agent_seq, requests)
      // A run may have ended since all replies were searched.
      erased.replies += await eraseRepliesOfRuns(held, requests, whose)
      await eraseTexts(held, ended, now())
    })
    erased.invocations += ended.length
    last = invocations.at(-1)?.id
    if (!last) return erased
  }
}
