import type { z } from 'zod'
import * as agents from '../agents/store.ts'
import { answersOf } from '../answers/store.ts'
import { presentGrant } from '../connections/grants/connection-grant.ts'
import * as grants from '../connections/grants/grant-store.ts'
import * as connections from '../connections/store.ts'
import * as files from '../files/store.ts'
import { presentIncoming } from '../incoming/incoming-delivery.ts'
import * as incoming from '../incoming/store.ts'
import { listOfRuns } from '../invocations/approvals/approval-store.ts'
import { listOfRuns as listFeedbackOfRuns } from '../invocations/feedback/feedback-store.ts'
import { findGiven, listOfUser } from '../invocations/find-invocations.ts'
import { presentInvocation } from '../invocations/receipt.ts'
import { withOwnId } from '../logs/log-entry.ts'
import * as logs from '../logs/store.ts'
import * as memories from '../memory/store.ts'
import { listSummaries } from '../memory/summaries/summary-store.ts'
import type { Parts } from '../operation/parts.ts'
import { operation } from '../operation.ts'
import * as schedules from '../schedules/store.ts'
import type { Database } from '../storage/database.ts'
import type { ShownAgents } from '../storage/queries/shown-agents.ts'
import { UserLine, UserParams } from './user-lines.ts'

export const exportUser = operation({
  id: 'exportUser',
  method: 'GET',
  path: '/v1/users/{user_id}/export',
  summary: 'Export a user',
  description:
    "Returns a user's data for all agents that the key has access to, as JSON lines: files (download their bytes by ID), sign-ins to connections (without tokens), memories, session summaries, schedules, deliveries of triggers, receipts with people's decisions and feedback, and their log entries. A reply that breaks off is incomplete.",
  access: { permission: 'read' },
  audit: { target: 'user_id' },
  input: { params: UserParams },
  answer: { lines: UserLine },

  async run({ params: { user_id } }, { db, keyring, shownAgents }) {
    const reach = await shownAgents()
    const shown = await agents.listShown(db, reach)
    // Files belong to the project, so a key of one agent does not see them.
    const ofProject = reach.only === null ? reach : null
    return linesOf({ db, keyring }, shown, { user_id, ofProject })
  },
})

type Line = z.input<typeof UserLine>

const PAGE_SIZE = 100

/** Reads page by page, so that only a little is in memory and no page delays other requests. */
async function* linesOf(
  { db, keyring }: Pick<Parts, 'keyring'> & { db: Database },
  shown: agents.ShownAgent[],
  { user_id, ofProject }: { user_id: string; ofProject: ShownAgents | null },
): AsyncGenerator<Line> {
  if (ofProject) {
    yield* fileLines(db, { ...ofProject, user_id })
    yield* grantLines(db, { project_id: ofProject.project_id, holder: user_id })
  }
  for (const agent of shown) {
    const { id: agent_id, seq: agent_seq } = agent
    yield* memoryLines(db, agent, user_id)
    for (const summary of await listSummaries(db, { agent_seq, user_id }))
      yield { type: 'summary', agent_id, ...summary }
    for (const schedule of await schedules.listOfUser(db, { agent_id, user_id }))
      yield { type: 'schedule', ...schedule }
    yield* deliveryLines(db, { agent_id, user_id })
    for await (const line of invocationLines(db, agent, user_id)) {
      yield line.type === 'log' ? withOwnId(line, keyring) : line
    }
  }
}

async function* fileLines(db: Database, whose: ShownAgents & { user_id: string }): AsyncGenerator<Line> {
  for (let after = ''; ; ) {
    const page = await files.listOfUser(db, whose, after, PAGE_SIZE)
    for (const file of page) yield { type: 'file', ...file }
    const last = page.at(-1)
    if (!last) return
    after = last.id
  }
}

async function* grantLines(db: Database, whose: { project_id: string; holder: string }): AsyncGenerator<Line> {
  const found = await grants.listOfUser(db, whose)
  const ids = found.map(({ connection_id }) => connection_id)
  const names = await connections.namesOf(db, [...new Set(ids)])
  for (const grant of found) yield { type: 'grant', ...presentGrant(grant, names.get(grant.connection_id) ?? '') }
}

async function* memoryLines(db: Database, agent: agents.ShownAgent, user_id: string): AsyncGenerator<Line> {
  const { id: agent_id, seq: agent_seq } = agent
  for (let after = 0; ; ) {
    const page = await memories.listAfter(db, { agent_seq, user_id }, after, PAGE_SIZE)
    for (const { memory } of page) yield { type: 'memory', agent_id, ...memory }
    const last = page.at(-1)
    if (!last) return
    after = last.seq
  }
}

/** What triggers received from the user. */
async function* deliveryLines(db: Database, whose: { agent_id: string; user_id: string }): AsyncGenerator<Line> {
  const { agent_id } = whose
  for (let after = ''; ; ) {
    const page = await incoming.listOfUser(db, whose, after, PAGE_SIZE)
    const answers = await answersOf(
      db,
      page.flatMap(({ request_id }) => request_id ?? []),
    )
    for (const delivery of page) {
      const answer = answers.get(delivery.request_id ?? '')
      const { headers, body: payload } = delivery
      yield { type: 'delivery', ...presentIncoming(delivery, answer), agent_id, headers, payload }
    }
    const last = page.at(-1)
    if (!last) return
    after = last.id
  }
}

/** The invocations, and after each page of them the approvals, feedback and log entries that belong to it. */
async function* invocationLines(db: Database, agent: agents.ShownAgent, user_id: string): AsyncGenerator<Line> {
  const { id: agent_id, seq: agent_seq } = agent
  let last: Parameters<typeof listOfUser>[2]
  do {
    const invocations = await listOfUser(db, { agent_seq, user_id }, last)
    for (const invocation of invocations) {
      const given =
        invocation.door === 'api' || invocation.door === 'console' ? null : await findGiven(db, invocation.id)
      yield { type: 'invocation', ...presentInvocation(invocation, agent_id), ...(given ? { given } : {}) }
    }
    const requests = invocations.map(({ id }) => id)
    for (const approval of await listOfRuns(db, requests)) yield { type: 'approval', agent_id, ...approval }
    for (const feedback of await listFeedbackOfRuns(db, requests)) yield { type: 'feedback', ...feedback, agent_id }
    for await (const entry of logs.listOfRequests(db, agent_seq, requests)) yield { type: 'log', agent_id, ...entry }
    last = invocations.at(-1)?.id
  } while (last)
}
