import type { Agent } from '../../agents/agent.ts'
import * as agents from '../../agents/store.ts'
import { getDefinition } from '../../deployments/serving.ts'
import type { UnderWay } from '../../lib/work/under-way.ts'
import type { Parts } from '../../operation/parts.ts'
import type { LiveRun } from '../../runtime/following/live-runs.ts'
import { admit, freePlace, leave } from '../admit.ts'
import { listKept, NOTHING_KEPT } from '../steps/step-store.ts'
import { giveBack, type TakenRun } from './queue-store.ts'
import { endUnrun, type Queued, type RunEnd, runQueued } from './run-queued.ts'
import type { WaitingAgent, WaitingAgents } from './waiting-agents.ts'

/**
 * What became of a taken run: it has begun, it is back in the queue, or this queue cannot begin it. It is back because
 * this node has no place now (`waits`), the other nodes have them all (`full`), or its last attempt stops (`later`).
 */
type Fate = 'begun' | 'waits' | 'full' | 'later' | 'gone'

type Options = {
  waiting: WaitingAgents
  underWay: UnderWay
  /** A run has ended, or waits again. */
  onEnd: (end: RunEnd | undefined) => Promise<void>
}

/** The background runs of this node: begins those that were taken from the queue, and sees each to its end. */
export class BackgroundRuns {
  readonly #parts: Parts
  readonly #options: Options
  readonly #running = new Set<LiveRun>()
  readonly #stop = new AbortController()

  constructor(parts: Parts, options: Options) {
    this.#parts = parts
    this.#options = options
  }

  async begin(taken: TakenRun, waiting: WaitingAgent): Promise<Fate> {
    try {
      return await this.#begin(taken, waiting)
    } catch (err) {
      this.#reportUnfinished(taken, err)
      return 'gone'
    }
  }

  /** Begins no more runs and cancels those under way, which go back into the queue. Returns how many. */
  stop(): number {
    this.#stop.abort()
    const cancelled = [...this.#running]
    for (const run of cancelled) run.cancel()
    return cancelled.length
  }

  async #begin(taken: TakenRun, waiting: WaitingAgent): Promise<Fate> {
    const { live } = this.#parts
    const { invocation, lease } = taken
    const agent = await agents.findKnownBySeq(invocation.agent_seq, this.#parts)
    // The runs of a deleted agent are removed later.
    if (!agent) return 'gone'
    const here = live.find(invocation.id)
    if (here) return this.#takeAgain(here, taken)
    // From here on a pause finds the run and stops it. An earlier pause is read when the run is admitted.
    const run = live.start(invocation.id, agent.id)
    run.lease = lease
    try {
      return await this.#beginAdmitted(await this.#prepare(taken, agent, run), waiting)
    } catch (error) {
      leave(run, this.#parts)
      throw error
    }
  }

  /** This process slept until the lease of its run ended, and has now taken the run again. */
  async #takeAgain(here: LiveRun, { invocation, lease }: TakenRun): Promise<Fate> {
    if (here.cancellation.cancelled) {
      // It stops, and then the run can begin anew.
      await giveBack(this.#parts.storage.db, lease, invocation.attempt - 1)
      return 'later'
    }
    here.lease = lease
    return 'gone'
  }

  async #prepare(taken: TakenRun, known: Agent, run: LiveRun): Promise<Queued> {
    const { storage } = this.#parts
    const { id, agent_seq, attempt, version } = taken.invocation
    const agent = (await agents.findKnownBySeq(agent_seq, this.#parts)) ?? known
    // A run that begins for the first time has no stored steps.
    const kept = attempt > 1 ? await listKept(storage.db, id) : NOTHING_KEPT
    // The version is the one that was deployed when the invocation was queued.
    const definition = kept.definition ?? (await getDefinition(agent, version, this.#parts))
    return { ...taken, agent, definition, run, kept: kept.steps, nextPosition: kept.nextPosition }
  }

  async #beginAdmitted(queued: Queued, waiting: WaitingAgent): Promise<Fate> {
    const { invocation, lease, agent, definition, run } = queued
    this.#options.waiting.learn(waiting, agent.id, definition.limits.max_concurrency)
    const refusal = await admit(run, agent, definition, this.#parts)
    if (refusal === 'no_place' || refusal === 'overloaded' || this.#stop.signal.aborted) {
      // It had a place on this node, so the places of all nodes together are taken.
      const fate = refusal === 'no_place' && run.hasPlace ? 'full' : 'waits'
      await giveBack(this.#parts.storage.db, lease, invocation.attempt - 1)
      leave(run, this.#parts)
      return fate
    }
    this.#options.underWay.track(this.#run(queued, waiting, refusal === 'paused'))
    return 'begun'
  }

  async #run(queued: Queued, waiting: WaitingAgent, isPaused: boolean): Promise<void> {
    const { run } = queued
    let end: RunEnd | undefined
    this.#running.add(run)
    try {
      if (isPaused) await endUnrun(queued, 'cancelled', this.#parts)
      else end = await runQueued(queued, this.#stop.signal, this.#parts)
    } catch (err) {
      this.#reportUnfinished(queued, err)
    }
    this.#running.delete(run)
    // The next run of the agent may need its place.
    await freePlace(run, this.#parts)
    leave(run, this.#parts)
    this.#options.waiting.ended(waiting)
    await this.#options.onEnd(end)
  }

  #reportUnfinished({ invocation: { id: request_id } }: TakenRun, err: unknown): void {
    this.#parts.log.warn({ err, request_id }, 'a background run was not finished: it goes on when its lease ends')
  }
}
