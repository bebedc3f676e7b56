import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Agent } from '../agents/agent.ts'
import type { Definition } from '../agents/definition.ts'
import { ApiError, sessionBusy, unavailable } from '../errors.ts'
import { laneKey } from '../lib/work/lane-key.ts'
import type { CountRun } from '../operation/context.ts'
import type { Parts } from '../operation/parts.ts'
import type { ProjectSnapshot } from '../operation/project-snapshot.ts'
import { requireRoom } from '../projects/project.ts'
import type { LiveRun } from '../runtime/following/live-runs.ts'
import { announce, type Database } from '../storage/database.ts'
import { isDuplicate } from '../storage/failures.ts'
import type { JournalEntry } from '../storage/journal/entry.ts'
import { commitPatiently } from '../storage/journal/journal.ts'
import type { Write } from '../storage/journal/rows.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import { LEASE_MS, type Lease } from '../storage/leases/lease.ts'
import type { Approval } from './approvals/approval.ts'
import { cancelBelow } from './children/child-store.ts'
import { type EndedInvocation, type Invocation, type Priority, turnOf, type WaitingInvocation } from './invocation.ts'
import * as queue from './queue/queue-store.ts'
import { queueWaitingForBudgets } from './queue/waiting-store.ts'
import * as rows from './rows/invocation-rows.ts'
import { type AdmitParts, admitInSession, insertCounted, type PutInLine } from './turns/admit-in-session.ts'
import { announceDue, join } from './turns/turn-store.ts'

/*
 * The contract of a durable run: what can be done with it, and what is guaranteed if the process dies. An active run is
 * a row of `runs`, and a running one is leased to one node. Only the node that holds the lease decides; each of its
 * writes has the condition that it holds the lease, in the same statement. docs/internals/runs.md explains the verbs:
 *
 *   admit ─► keep ─► … ─► finish       (ended: the run is deleted and its receipt inserted)
 *   enqueue ─► take ─► keep ─► finish  (waiting: it is kept without a lease, and taken again when its wait is over)
 *   takeUp                             (the node died: the run is taken again, or has failed)
 */

/** Why a run can't start now. */
export type AdmissionRefusal = 'no_place' | 'project_full' | 'overloaded' | 'session_busy'

type AdmissionRequest = {
  invocation: Invocation
  agent: Agent
  definition: Definition
  project: ProjectSnapshot
  countRun: CountRun | undefined
}

/**
 * Admits a run that a client waits for. If its agent or its project limits its runs, the statement that stores the run
 * counts them on all nodes, and the run starts once it is stored. The same is true of a run that has to be counted
 * (`countRun`), and of a run in a session, which may have to wait for its turn. Any other run could be refused only if
 * the database is lost, so its model is called while it is being stored (`run.stored`). If that fails, it is stopped.
 * If it ends before its row is sent, only its end is written. The entries of an admitted run are always accepted.
 *
 * Dies before: nothing is stored, and the client can retry. Dies after: the run is on disk, leased to this node; every
 * node shows, follows and cancels it, and `takeUp` finds it.
 */
export async function admit(
  run: LiveRun,
  { invocation, agent, definition, project, countRun }: AdmissionRequest,
  parts: AdmitParts,
): Promise<AdmissionRefusal | PutInLine | undefined> {
  const { journal, node, now, storage } = parts
  requireRoom(project)
  if (!journal.reserve()) return 'overloaded'
  run.hasPlace = true
  const time = now()
  const lease = { key: [invocation.id], owner: node, until: time + LEASE_MS }
  const session_key = turnOf(invocation, definition)
  const row = rows.insertion(invocation, { project_id: agent.project_id, lease, session_key })
  const isLimited = definition.limits.max_concurrency !== null || project.limits.concurrent_runs !== null
  const hasRoom = isLimited ? roomFor({ agent, definition, project }, time, storage.db) : undefined
  if (session_key !== undefined) {
    const asked = { invocation, agent, definition, session_key, row, lease, hasRoom, countRun }
    const refusal = await admitInSession(run, asked, parts)
    if (refusal) return refusal === 'no_room' ? whyNoRoom(storage.db, agent, time) : refusal
  } else if (!hasRoom && !countRun) {
    const entry = { writes: [row], reserved: true }
    run.insertedBy = entry
    run.stored = journal.commit(entry).then(() => void (run.lease = lease))
    run.stored.catch(() => run.abandon())
  } else if (await insertCounted(storage, row, { hasRoom, countRun })) {
    run.lease = lease
  } else {
    return whyNoRoom(storage.db, agent, time)
  }
  if (isLimited) run.limited_lane = laneKey(agent.project_id, agent.seq)
  return undefined
}

/** Whether the agent and its project have room for a run, on all nodes. */
function roomFor(
  { agent, definition, project }: Pick<AdmissionRequest, 'agent' | 'definition' | 'project'>,
  time: number,
  db: Database,
): RawBuilder<SqlBool> {
  const mostOfAgent = definition.limits.max_concurrency
  const mostOfProject = project.limits.concurrent_runs
  const ofProject = sql`${queue.runsOfProject(db, sql`${agent.project_id}`, time)} < ${mostOfProject}`
  const ofAgent = sql`${queue.runsUnderWay(db, agent.seq, time)} < ${mostOfAgent}`
  // The project is checked before the agent, as in the queue.
  return sql<SqlBool>`case when ${mostOfProject === null ? sql`true` : ofProject}
    then ${mostOfAgent === null ? sql`true` : ofAgent} else false end`
}

async function whyNoRoom(db: Database, agent: Agent, time: number): Promise<AdmissionRefusal> {
  return (await queue.isProjectFull(db, agent.seq, time)) ? 'project_full' : 'no_place'
}

/** The error for a client that waits for the answer. */
export function notAdmittedError(refusal: AdmissionRefusal, { name }: Agent, { limits }: Definition): ApiError {
  if (refusal === 'session_busy') return sessionBusy()
  if (refusal === 'overloaded') return unavailable('The service is overloaded. Try again shortly.', 1000)
  const full =
    refusal === 'project_full'
      ? 'The project has reached its limit of concurrent runs (limits.concurrent_runs). Try again shortly, or raise the limit.'
      : `Agent "${name}" has reached its limit of concurrent runs (limits.max_concurrency: ${limits.max_concurrency}). Try again shortly.`
  return new ApiError('rate_limited', full, { retry_after: 1 })
}

type Enqueued = { invocation: Invocation; agent: Agent; definition: Definition; priority: Priority }

/**
 * Queues a run in the caller's transaction. All nodes are notified when it commits. Returns false if the session is
 * busy and the agent then rejects runs.
 */
export async function enqueueRun(
  db: Database,
  { invocation, agent, definition, priority }: Enqueued,
  now: number,
): Promise<boolean> {
  const { project_id, seq: agent_seq } = agent
  const session_key = turnOf(invocation, definition)
  const start = { project_id, session_key, priority }
  const begun = rows.insertion(invocation, start)
  if (session_key === undefined) {
    await writeRows(db, [begun])
  } else {
    const { while_busy } = definition.sessions
    const queued = rows.insertionInLine(invocation, start)
    const joined = await join(db, { session_key, while_busy, begun, queued, now })
    if (joined !== 'begun') return joined === 'queued'
  }
  await announceDue(db, { project_id, agent_seq, priority })
  return true
}

/**
 * Moves an agent's runs with the agent. Other budgets may apply afterwards, so runs that wait for a budget continue.
 */
export async function moveRuns(db: Database, agent: Agent): Promise<void> {
  await db.updateTable('runs').set({ project_id: agent.project_id }).where('agent_seq', '=', agent.seq).execute()
  await queueWaitingForBudgets(db, agent.seq)
  await announceQueued(db, agent)
}

export async function announceQueued(db: Database, { project_id, seq: agent_seq }: Agent): Promise<void> {
  for (const priority of ['normal', 'interactive']) await announceDue(db, { project_id, agent_seq, priority })
}

/**
 * Takes an agent's queued runs in the order of their rank, as many as its limits allow on all nodes. One statement
 * marks them as running and leases them to this node, so no other node can take them.
 *
 * Dies before: they stay in the queue. Dies after: they are leased to a dead node, and `takeUp` queues them again.
 */
export const take: (db: Database, options: queue.TakeOptions) => ReturnType<typeof queue.takeQueued> = queue.takeQueued

/**
 * Stores steps of a run and their usage, and renews its lease. Returns false if this node has lost the run; then nothing
 * is written, and the run must stop here.
 *
 * Dies before: the next attempt does the steps again. Dies after: it continues after them.
 */
export async function keep(
  run: LiveRun,
  owner: string,
  writes: Write[],
  parts: Pick<Parts, 'journal' | 'now' | 'storage'>,
): Promise<boolean> {
  const lease = { key: [run.request_id], owner, until: parts.now() + LEASE_MS }
  const entry = { writes, endings: [rows.renewal(lease)], reserved: true }
  const isKept = await commitPatiently(entry, run, parts).catch((error) => {
    if (!isDuplicate(error)) throw error
    // The database's answer to an earlier try was lost, and that try has stored the steps.
    return queue.isStillTaken(parts.storage.db, lease)
  })
  if (isKept) run.lease = lease
  return isKept
}

/** How a node's work on a run ends. */
export type WorkEnd =
  /** The run has completed, failed or been cancelled. */
  | { kind: 'ended'; invocation: EndedInvocation; entry: JournalEntry }
  /**
   * The run continues when people have decided what it `asked`, when the runs that it called have ended, or at a
   * certain time.
   */
  | {
      kind: 'waiting'
      invocation: WaitingInvocation
      entry: JournalEntry
      asked: readonly Approval[]
      waitsForRuns: boolean
    }
  /** The service stops. The run returns to the queue. */
  | { kind: 'stopped' }
  /** This node can't continue the run: another node has it, or will take it when the lease ends. */
  | { kind: 'moved'; cause: unknown }

/** A `WorkEnd` with the function that stores the run's usage if the entry isn't written. */
export type RunEnd = WorkEnd & { storeSpending(): Promise<void> }

type FinishedRun = { run: LiveRun; agent: Agent; definition: Definition; invocation: Invocation }

/**
 * Ends this node's work on a run. `write` commits the entry and resolves with nothing if the lease was lost. An ended
 * run is deleted, and its receipt, log entries, metrics, memories, events and ledger lines are inserted in one commit.
 * A waiting run keeps its row, without a lease. Returns what `write` returned. In any case, the run releases its place.
 *
 * Dies before: the run is leased to a dead node, and `takeUp` finds it with the stored steps. Dies after: all of it is
 * on disk, and `takeUp` cancels the runs that it called.
 */
export async function finish<Written>(
  end: RunEnd,
  { run, agent, definition, invocation }: FinishedRun,
  write: (entry: JournalEntry) => Promise<Written | undefined>,
  parts: Pick<Parts, 'journal' | 'now' | 'storage' | 'telemetry'>,
): Promise<Written | undefined> {
  let written: Written | undefined
  const { session } = run
  try {
    if (end.kind === 'stopped') {
      await end.storeSpending()
      if (run.lease) await queueAgain(run.lease, parts)
    }
    if (end.kind === 'ended' || end.kind === 'waiting') {
      // Once this is on disk, the run may be woken and taken again, even by this node.
      if (end.kind === 'waiting') run.abandon()
      const keepsTurn = end.kind === 'waiting' && end.waitsForRuns
      const passesTurn = session?.isAwaited && !keepsTurn
      // It becomes true again if more runs get in line during the write.
      if (passesTurn) session.isAwaited = false
      written = await write(passesTurn ? passing(end.entry, session.key) : end.entry)
      if (passesTurn) session[written ? 'isPassed' : 'isAwaited'] = true
    }
    if (written && end.kind === 'ended') {
      parts.telemetry.countRun(end.invocation.status, definition.kind, agent.project_id)
      // Only a run that has waited can have called others.
      if (invocation.attempt > 1) await cancelCalled(invocation, definition, parts)
    }
    return written
  } finally {
    // The client waits, and the database may be unavailable for a long time, so this isn't awaited.
    if (!written && end.kind !== 'stopped') void end.storeSpending()
    leave(run, parts)
  }
}

/** Adds to the entry that the session's turn goes to the first run in line in the same commit. */
function passing(entry: JournalEntry, session_key: string): JournalEntry {
  return { ...entry, endings: entry.endings?.map((ending) => rows.passingTurn(ending, session_key)) ?? [] }
}

/** Releases a run's place, whether it was admitted or not. Followers on this node learn that it has ended. */
export function leave(run: LiveRun, { journal }: Pick<Parts, 'journal'>): void {
  if (run.hasPlace) journal.release()
  run.hasPlace = false
  run.end()
}

/** Another node, or the next start, continues the run. */
async function queueAgain(lease: Lease, { storage }: Pick<Parts, 'storage'>): Promise<void> {
  await storage.transaction(async (db) => {
    await queue.giveBack(db, lease)
    await announce(db, 'queue')
  })
}

/** A run that has ended doesn't need answers from runs that it called. */
async function cancelCalled(
  { id }: Invocation,
  definition: Definition,
  { now, storage }: Pick<Parts, 'now' | 'storage'>,
): Promise<void> {
  if (!definition.tools.some(({ type }) => type === 'agent')) return
  await storage.transaction((db) => cancelBelow(db, id, now()))
}

/**
 * Queues the runs of dead nodes again if they are background runs or have an Idempotency-Key, and returns their IDs.
 * The same statement checks that the lease has ended, so no run is taken from a live node. `tend-runs.ts` marks the
 * other runs as failed.
 */
export const takeUp: typeof queue.requeueLapsed = queue.requeueLapsed
