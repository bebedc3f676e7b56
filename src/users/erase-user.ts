import { sql } from 'kysely'
import { z } from 'zod'
import * as agents from '../agents/store.ts'
import * as answers from '../answers/store.ts'
import * as budgets from '../budgets/store.ts'
import { eraseGrants } from '../connections/grants/erase-grants.ts'
import { unavailable } from '../errors.ts'
import * as files from '../files/store.ts'
import * as incoming from '../incoming/store.ts'
import { eraseCopiesOfUser } from '../invocations/cases/case-store.ts'
import { eraseTexts, listIdsOfUser, listOfUser } from '../invocations/find-invocations.ts'
import { InvocationStatus, isFinal } from '../invocations/invocation.ts'
import * as links from '../links/store.ts'
import * as logs from '../logs/store.ts'
import * as memories from '../memory/store.ts'
import type { Parts } from '../operation/parts.ts'
import { operation } from '../operation.ts'
import * as schedules from '../schedules/store.ts'
import type { Database } from '../storage/database.ts'
import { eraseRepliesAbout, eraseReply, listReplies } from '../storage/leases/stored-replies.ts'
import type { Storage } from '../storage/open-storage.ts'
import { contains } from '../storage/queries/contains.ts'
import type { ShownAgents } from '../storage/queries/shown-agents.ts'
import * as usage from '../usage/store.ts'
import { eraseFromEvents } from '../webhooks/delivery/deliveries-of-user.ts'
import { UserParams } from './user-lines.ts'

/** A reply names at most this number of unfinished runs. */
const MOST_NAMED = 100

const STILL_IN_LOG =
  "The data is erased, but the database's write-ahead log couldn't be cleared because a long read, such as a backup, is in progress. Send the request again."

const count = (what: string) => z.int().describe(what)

export const eraseUser = operation({
  id: 'eraseUser',
  method: 'DELETE',
  path: '/v1/users/{user_id}',
  summary: 'Erase a user',
  description:
    "Erases a user's data for all agents that the key has access to: memories and session summaries, schedules, payloads of triggers, files, sign-ins to connections, the content of receipts and of their copies in sets and replays, comments in feedback, log entries, events and stored replies. A key limited to one agent deletes the files that came with that agent's runs; other files belong to the project. Receipts are kept for accounting, without content and without the user; the scores of their feedback are kept too. If the request is interrupted, send it again. It requires a one-time code if one of these agents requires one for `delete` or `clear_memory`.",
  access: { permission: 'delete' },
  mfa: { policy: 'clear_memory', acrossAgents: true },
  audit: { target: 'user_id' },
  transaction: false,
  input: { params: UserParams },
  answer: {
    data: z
      .object({
        memories: count('Forgotten'),
        invocations: count('Receipts whose content was erased'),
        logs: count('Deleted log entries'),
        events: count('Events whose content was erased'),
        files: count('Deleted files'),
        deliveries: count('Deliveries of triggers whose payload was erased'),
        schedules: count('Deleted schedules that ran for this user'),
        grants: count('Sign-ins to connections that were ended, also at the provider if it responds'),
        replies: count('Deleted replies for an Idempotency-Key; a retry gets 404'),
        unfinished: count('Runs that are still active. Cancel them or wait, then send the request again'),
        unfinished_runs: z
          .array(z.object({ agent_id: z.string(), request_id: z.string(), status: InvocationStatus }))
          .describe('The first 100 of them'),
      })
      .meta({ id: 'ErasedUser' }),
  },

  async run({ params: { user_id } }, { db, bytes, connectionProviders, keyring, log, now, storage, shownAgents }) {
    const reach = await shownAgents()
    const { project_id } = reach
    const shown = await agents.listShown(db, reach)
    const isWholeProject = reach.only === null && reach.except.length === 0
    // Data that shows what belongs to the user is removed last, so that after a crash, the same request finds the rest.
    const agent_seqs = new Set(shown.map(({ seq }) => seq))
    const agent_ids = new Set(shown.map(({ id }) => id))
    const whose = { user_id, project_id, isWholeProject, agent_seqs, agent_ids }
    const replies = await eraseReplies(db, whose)
    const none = { memories: 0, invocations: 0, logs: 0, events: 0, files: 0, schedules: 0, deliveries: 0, grants: 0 }
    const erased = { ...none, replies, unfinished: 0 }
    const unfinished_runs: { agent_id: string; request_id: string; status: InvocationStatus }[] = []
    for (const { id: agent_id, seq: agent_seq } of shown) {
      erased.schedules += await storage.transaction((held) => schedules.removeOfUser(held, { agent_id, user_id }))
      erased.deliveries += await incoming.eraseOfUser(db, { agent_id, user_id })
      await storage.transaction((held) => eraseCopiesOfUser(held, { agent_seq, user_id }, now()))
      await storage.transaction((held) => links.removeVisitor(held, user_id, agent_id))
      const left = await eraseInvocations(storage, agent_seq, whose, now)
      // A run that ends before its receipt is erased writes an answer.
      await answers.removeOfUser(db, { agent_id, user_id })
      // A run that ends before this is one of those whose receipt was erased, or it's counted as unfinished.
      erased.memories += await memories.clear(storage, { agent_seq, user_id })
      erased.invocations += left.invocations
      erased.logs += left.logs
      erased.replies += left.replies
      erased.unfinished += left.unfinished
      const named = left.named.slice(0, MOST_NAMED - unfinished_runs.length)
      unfinished_runs.push(...named.map((run) => ({ agent_id, ...run })))
    }
    if (isWholeProject) {
      await storage.transaction((held) => budgets.forgetUser(held, project_id, user_id))
      erased.grants = await eraseGrants({ project_id, user_id }, { connectionProviders, keyring, log, storage })
    }
    // Rows of the ledger and events contain the user themselves, so those of deleted agents are found too. They also
    // include everything of the runs above.
    while ((await usage.forgetUser(db, { reach, user_id }, BATCH_SIZE)) > 0);
    erased.events = await eraseFromEvents(db, { reach, user_id })
    // The place of the bytes may be away, so they go last.
    erased.files = await removeFiles({ storage, bytes }, { ...reach, user_id })
    if (!(await storage.emptyLog())) throw unavailable(STILL_IN_LOG)
    return { ...erased, unfinished_runs }
  },
})

/** Between two batches others can write. */
const BATCH_SIZE = 500

type Transactions = Pick<Storage, 'db' | 'transaction'>

async function removeFiles(
  parts: Pick<Parts, 'storage' | 'bytes'>,
  whose: ShownAgents & { user_id: string },
): Promise<number> {
  let total = 0
  let failed: unknown
  for (let last = ''; ; ) {
    const found = await files.listOfUser(parts.storage.db, whose, last)
    if (found.length === 0) break
    last = found.at(-1)?.id ?? last
    const { removed, failure } = await files.eraseFiles(parts, found)
    total += removed
    failed ??= failure
  }
  if (failed) throw failed
  return total
}

async function eraseInvocations(
  { db, transaction }: Transactions,
  agent_seq: number,
  whose: ErasureScope,
  now: () => number,
) {
  const erased = { invocations: 0, logs: 0, replies: 0, unfinished: 0 }
  const named: { request_id: string; status: InvocationStatus }[] = []
  let last: Parameters<typeof listOfUser>[2]
  for (;;) {
    const invocations = await listOfUser(db, { agent_seq, user_id: whose.user_id }, last)
    const ended = invocations.filter(isFinal)
    const unfinished = invocations.filter((invocation) => !isFinal(invocation))
    erased.unfinished += unfinished.length
    for (const { id: request_id, status } of unfinished.slice(0, MOST_NAMED - named.length)) {
      named.push({ request_id, status })
    }
    await transaction(async (held) => {
      const requests = ended.map(({ id }) => id)
      erased.logs += await logs.removeOfRequests(held, agent_seq, requests)
      // A run may have ended since all replies were searched.
      erased.replies += await eraseRepliesOfRuns(held, requests)
      await eraseTexts(held, ended, now())
    })
    erased.invocations += ended.length
    last = invocations.at(-1)?.id
    if (!last) return { ...erased, named }
  }
}

type ErasureScope = {
  user_id: string
  agent_seqs: ReadonlySet<number>
  agent_ids: ReadonlySet<string>
  project_id: string
  /** Whether all of the project is in reach, and not only some of its agents. */
  isWholeProject: boolean
}

/** Replies to requests that may be repeated are kept for a day. Those that name the user are erased whole. */
async function eraseReplies(db: Database, whose: ErasureScope): Promise<number> {
  const named = contains(db, sql<string>`body`, JSON.stringify(whose.user_id))
  let erased = 0
  let after = { scope: '', key: '' }
  for (;;) {
    const replies = await listReplies(db, named, after)
    const last = replies.at(-1)
    if (!last) return erased
    after = last
    for (const reply of replies) {
      if (await isInReach(db, reply, whose)) erased += await eraseReply(db, reply)
    }
  }
}

/** The same for replies about these runs of the user. */
async function eraseRepliesOfRuns(db: Database, request_ids: string[]): Promise<number> {
  return request_ids.length === 0 ? 0 : eraseRepliesAbout(db, request_ids)
}

const ID = /"((?:agt|req|mem)_[0-9A-Z]{26})"/g

/** Whether a reply belongs to the project, or is about one of the agents, its runs or its memories. */
async function isInReach(
  db: Database,
  { body, ...reply }: { body: string; project_id: string },
  whose: ErasureScope,
): Promise<boolean> {
  const { project_id, user_id, isWholeProject } = whose
  if (isWholeProject && reply.project_id === project_id) return true
  const ids = Array.from(body.matchAll(ID), ([, id]) => id as string)
  if (ids.some((id) => whose.agent_ids.has(id))) return true
  const of = (prefix: string) => ids.filter((id) => id.startsWith(prefix))
  const runs = await listIdsOfUser(db, user_id, { ...whose, ids: of('req_') })
  return runs.length > 0 || (await memories.listIdsOfAgents(db, whose.agent_seqs, of('mem_'))).length > 0
}
