import type { Agent } from '../../agents/agent.ts'
import { findSnapshotBySeq } from '../../agents/agent-snapshot.ts'
import type { Definition } from '../../agents/definition.ts'
import { getDefinition } from '../../deployments/serving.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import type { Parts } from '../../operation/parts.ts'
import type { LiveRun } from '../../runtime/following/live-runs.ts'
import { DamagedRowError } from '../../storage/damaged-rows.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import { commitPatiently } from '../../storage/journal/journal.ts'
import { type EffectParts, effects } from '../effects/effects.ts'
import { CANCELLED, endWith } from '../invocation.ts'
import * as rows from '../rows/invocation-rows.ts'
import { endDamaged } from '../rows/read-runs.ts'
import { type RunParts, runInvocation } from '../run-invocation.ts'
import { finish, type RunEnd } from '../runs.ts'
import { withKept } from '../steps/kept-steps.ts'
import { listKept, logsOf, NOTHING_KEPT } from '../steps/step-store.ts'
import type { StartedRun } from '../steps/stored-run.ts'
import { giveBackUnbegun, isStillTaken, type TakenRun } from './queue-store.ts'

const MAX_LAPSES = 10

const GIVEN_UP = {
  code: 'server_error',
  message: 'The service gave up on this run after several attempts.',
} as const

/** A run from the queue that has a slot, and its stored steps. */
type QueuedRun = TakenRun & { agent: Agent; definition: Definition; run: LiveRun } & Pick<
    StartedRun,
    'kept' | 'nextPosition'
  >

export type BackgroundParts = RunParts & Pick<Parts, 'live' | 'log' | 'memo'>

/** This node's background runs, from the moment they are taken from the queue to their end. */
export class BackgroundRuns {
  readonly #parts: BackgroundParts
  readonly #running = new Set<LiveRun>()
  readonly #stop = new AbortController()

  constructor(parts: BackgroundParts) {
    this.#parts = parts
  }

  async run(taken: TakenRun): Promise<undefined> {
    const { journal, log } = this.#parts
    try {
      await this.#run(taken).catch((err) => this.#endIfDamaged(err, taken))
    } catch (err) {
      const { id: request_id } = taken.invocation
      log.warn({ err, request_id }, 'a background run was interrupted; it continues when its lease expires')
    }
    journal.release()
  }

  /**
   * Starts no more runs, and cancels those in progress, which return to the queue. Returns how many were in progress.
   */
  stop(): number {
    this.#stop.abort()
    const cancelled = [...this.#running]
    for (const run of cancelled) run.cancel()
    return cancelled.length
  }

  async #run(taken: TakenRun): Promise<void> {
    const { live, storage } = this.#parts
    const { invocation, isUnwanted, lease, session } = taken
    const agent = (await findSnapshotBySeq(invocation.agent_seq, this.#parts))?.agent
    // A job removes the deleted agent's runs later.
    if (!agent) return
    const here = live.find(invocation.id)
    if (here && !here.cancellation.cancelled) {
      // This process was suspended until the run's lease ended, and has now taken the run again.
      here.lease = lease
      if (session?.isAwaited && here.session) here.session.isAwaited = true
      // While it was queued, no node was told to cancel it.
      if (isUnwanted) here.cancel()
      return
    }
    // The earlier attempt stops here first. Then the run can start over.
    await here?.ended
    // If the attempt was this node's own, it may also have finished the run since.
    if (invocation.attempt > 1 && !(await isStillTaken(storage.db, lease))) return
    // From here on, a pause finds the run and stops it. Earlier pauses are checked below.
    const run = live.start(invocation.id, agent.id)
    run.lease = lease
    run.parent_request_id = invocation.parent_request_id ?? undefined
    if (session) live.joinSession(run, { ...session, lane: laneKey(agent.project_id, agent.seq) })
    try {
      await this.#runPrepared(await this.#prepare(taken, agent, run))
    } finally {
      run.end()
    }
  }

  /** Ends a run whose stored steps can't be read, because no node can continue it. */
  async #endIfDamaged(err: unknown, { invocation: { id: request_id } }: TakenRun): Promise<void> {
    if (!(err instanceof DamagedRowError) || err.id !== request_id) throw err
    const { log, now, storage } = this.#parts
    await endDamaged(storage.db, request_id, now())
    log.warn({ err, request_id }, 'a background run failed because its stored steps are damaged')
  }

  async #prepare(taken: TakenRun, known: Agent, run: LiveRun): Promise<QueuedRun> {
    const { storage } = this.#parts
    const { id, agent_seq, attempt, version } = taken.invocation
    const agent = (await findSnapshotBySeq(agent_seq, this.#parts))?.agent ?? known
    // A run in its first attempt has no stored steps.
    const kept = attempt > 1 ? await listKept(storage.db, id) : NOTHING_KEPT
    // The version that was deployed when the invocation was queued. A run that is given up doesn't need one.
    const served = isGivenUp(taken) ? agent : kept.definition
    const definition = served ?? (await getDefinition(agent, version, this.#parts))
    return { ...taken, agent, definition, run, kept: kept.steps, nextPosition: kept.nextPosition }
  }

  async #runPrepared(queued: QueuedRun): Promise<void> {
    const { agent, run } = queued
    const { signal } = this.#stop
    if (signal.aborted) return giveBackUnbegun(this.#parts.storage.db, queued)
    if (agent.status === 'paused' || queued.isUnwanted) return endUnrun(queued, 'cancelled', this.#parts)
    this.#running.add(run)
    try {
      await runQueued(queued, signal, this.#parts)
    } finally {
      this.#running.delete(run)
    }
  }
}

/** Whether the run was taken many times and could never be prepared or finished. */
function isGivenUp({ lapses }: TakenRun): boolean {
  return lapses >= MAX_LAPSES
}

/**
 * Runs a queued invocation. If the service stops, the invocation returns to its old position in the queue. If the node
 * dies, it continues after its last step when the lease ends, here or on another node, unless that has happened too
 * often without a new step.
 */
async function runQueued(queued: QueuedRun, stop: AbortSignal, parts: RunParts): Promise<void> {
  if (isGivenUp(queued)) return endUnrun(queued, 'failed', parts)
  const end = await runInvocation({ ...queued, owner: queued.lease.owner, streaming: true, stop }, parts)
  await commit(end, queued, parts)
  if (end.kind === 'moved') throw end.cause
}

type EndParts = Parameters<typeof finish>[3]

async function commit(end: RunEnd, queued: QueuedRun, parts: EndParts): Promise<void> {
  const write = async (entry: JournalEntry) => (await commitPatiently(entry, queued.run, parts)) || undefined
  await finish(end, queued, write, parts)
}

/**
 * Ends an invocation without running it: it failed too often, its agent was paused, or the run that called it has
 * ended.
 */
async function endUnrun(
  queued: QueuedRun,
  status: 'failed' | 'cancelled',
  parts: EndParts & EffectParts,
): Promise<void> {
  const { agent, definition, lease, kept } = queued
  const error = status === 'failed' ? GIVEN_UP : CANCELLED
  const invocation = endWith(withKept(queued.invocation, kept), status, error, parts.now())
  const writes = await effects(invocation, agent, definition, logsOf(kept), parts)
  const ending = rows.ending(invocation.id, lease.owner, kept.length > 0)
  const entry = { writes: [rows.receiptWrite(invocation), ...writes], endings: [ending], reserved: true }
  await commit({ kind: 'ended', invocation, entry, storeSpending: async () => {} }, queued, parts)
}
