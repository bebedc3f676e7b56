import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import * as agents from '../../agents/store.ts'
import { getVersion } from '../../deployments/store.ts'
import { waitAtMost } from '../../lib/wait-at-most.ts'
import type { Parts } from '../../operation/parts.ts'
import type { LiveRun } from '../../runtime/following/live-runs.ts'
import { announce } from '../../storage/database.ts'
import { LEASE_MS } from '../../storage/leases/lease.ts'
import { admit, freePlace, leave } from '../admit.ts'
import { QUEUED_AGENT, QUEUED_TABLES } from '../rows/invocation-rows.ts'
import { listKept, NOTHING_KEPT } from '../steps/step-store.ts'
import { giveBack, listWaitingAgents, queueWaitingOfPaused, type TakenRun, takeQueued, wakeDue } from './queue-store.ts'
import { endUnrun, type Queued, type RunEnd, runQueued } from './run-queued.ts'
import { type Allotment, type WaitingAgent, WaitingAgents } from './waiting-agents.ts'

/** How many background runs this node has at once. They mostly wait for a model. Others wait in the queue. */
const PLACES = { total: 64, ofOneAgent: 32 }
/** The node that queues a run also begins it, unless it is busy. Other nodes wait so long before they do. */
const HEAD_START_MS = 100
const SURVEY_EVERY_MS = 1_000
const TROUBLE_MS = 1_000
/** The longest time that a timer is set for. */
const MAX_PAUSE_MS = 24 * 3_600_000
const OVERLOAD_MS = 250
/** An agent whose places the runs of other nodes have is looked at again after so long. */
const FULL_MS = 200
/** How long runs may take to end once the service stops. */
const STOP_MS = 5_000

/**
 * What became of a taken run: it has begun, it is back in the queue, or this queue cannot begin it. `later` means that
 * it is back and that nothing tells when it can begin.
 */
type Fate = 'begun' | 'waits' | 'later' | 'gone'

/**
 * Runs what `Prefer: respond-async` has queued. A run begins when its agent has a place for it, in the order in which
 * runs came, and agents alternate. Nothing is polled: a queued run and a freed place wake the queue.
 */
export class RunQueue {
  readonly #parts: Parts
  readonly #waiting: WaitingAgents
  readonly #running = new Set<LiveRun>()
  readonly #working = new Set<Promise<void>>()
  readonly #stop = new AbortController()
  #lookTimer: NodeJS.Timeout | undefined
  #surveyTimer: NodeJS.Timeout | undefined
  #wakeTimer: NodeJS.Timeout | undefined
  #surveyedAt = Number.NEGATIVE_INFINITY

  constructor(parts: Parts) {
    const { journal, live, storage } = parts
    this.#parts = parts
    this.#waiting = new WaitingAgents({ ...PLACES, taken: (agent_id) => live.taken(agent_id) })
    journal.onWritten((rows) => {
      const queued = QUEUED_TABLES.flatMap((table) => rows.get(table) ?? [])
      if (queued.length === 0) return
      for (const row of queued) this.#waiting.add(row[QUEUED_AGENT] as number)
      this.#look()
    })
    live.onFreed((agent_id) => {
      if (this.#waiting.freed(agent_id)) this.#look()
    })
    storage.onChange((change, id) => {
      if (change === 'queue' && id === undefined) this.#surveySoon()
      if (change === 'queue' && id !== undefined) this.#goOn(Number(id))
      if (change !== 'agents') return
      this.#waiting.forgetLimits(id)
      this.#look()
    })
  }

  /** Asks the store which agents have runs in the queue: those that other nodes have queued, or left behind. */
  async survey(): Promise<void> {
    this.#surveyedAt = performance.now()
    for (const agent_seq of await listWaitingAgents(this.#parts.storage.db)) this.#waiting.add(agent_seq)
    this.#look()
  }

  /** Queues the runs whose wait is over, and sets a timer for the next one. */
  async wake(): Promise<void> {
    const { storage, now } = this.#parts
    const { woken, next_at } = await wakeDue(storage, now())
    clearTimeout(this.#wakeTimer)
    if (next_at !== undefined && !this.#stop.signal.aborted) {
      const pause = Math.min(Math.max(0, next_at - now()), MAX_PAUSE_MS)
      this.#wakeTimer = setTimeout(() => this.#tryToWake(), pause).unref()
    }
    if (woken > 0) await this.survey()
  }

  /** A pause cancels the agent's runs, also those that wait. Without an id, every paused agent is meant. */
  async wakePaused(agent_id: string | undefined): Promise<void> {
    const { storage, now } = this.#parts
    const woken = await storage.transaction((db) => queueWaitingOfPaused(db, agent_id, now()))
    if (woken > 0) await this.survey()
  }

  async #tryToWake(): Promise<void> {
    await this.wake().catch((err) => this.#parts.log.warn({ err }, 'could not look for runs that wait'))
  }

  /**
   * Begins no more runs. Those under way are cancelled, and wait at their old positions in the queue for another node,
   * or for the next start.
   */
  async close(): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#lookTimer)
    clearTimeout(this.#surveyTimer)
    clearTimeout(this.#wakeTimer)
    const cancelled = [...this.#running]
    for (const run of cancelled) run.cancel()
    await waitAtMost(this.#idle(), STOP_MS)
    const { storage, log } = this.#parts
    if (cancelled.length === 0) return
    await storage
      .transaction((db) => announce(db, 'queue'))
      .catch((err) => log.warn({ err }, 'other nodes were not told of the runs that wait again'))
  }

  async #idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working)
  }

  /** Somebody has decided what a run of this agent waited for, on whichever node. That is rare, so nobody waits. */
  #goOn(agent_seq: number): void {
    this.#waiting.add(agent_seq)
    this.#look()
  }

  /** Other nodes announce queued runs, perhaps many times a second. */
  #surveySoon(): void {
    if (this.#surveyTimer || this.#stop.signal.aborted) return
    const pause = Math.max(HEAD_START_MS, this.#surveyedAt + SURVEY_EVERY_MS - performance.now())
    this.#surveyTimer = setTimeout(() => {
      this.#surveyTimer = undefined
      this.survey().catch((err) => this.#parts.log.warn({ err }, 'could not look for queued invocations'))
    }, pause).unref()
  }

  #look(): void {
    if (this.#stop.signal.aborted) return
    if (!this.#parts.journal.hasRoom()) return this.#lookLater(OVERLOAD_MS)
    for (const allotment of this.#waiting.allot()) this.#track(this.#serve(allotment))
  }

  #lookLater(pause: number): void {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined
      this.#look()
    }, pause).unref()
  }

  async #serve(allotment: Allotment): Promise<void> {
    const { node: owner, now, storage, log } = this.#parts
    const { agent, places: limit } = allotment
    const lease = { owner, now: now(), lease_ms: LEASE_MS }
    try {
      if (agent.isFull && (await this.#isStillFull(agent))) {
        this.#waiting.looked(allotment, 0, true, true)
        return this.#askAgain(agent)
      }
      const { taken, hasMore } = await takeQueued(storage.db, { agent_seq: agent.agent_seq, limit, ...lease })
      const fates: Fate[] = []
      for (const run of taken)
        fates.push(await this.#begin(run, agent).catch((err) => this.#reportUnfinished(run, err)))
      const begun = fates.filter((fate) => fate === 'begun').length
      const isFull = fates.includes('later')
      this.#waiting.looked(allotment, begun, hasMore || isFull || fates.includes('waits'), isFull)
      if (isFull) this.#askAgain(agent)
      this.#look()
    } catch (err) {
      log.warn({ err }, 'could not look for queued invocations')
      this.#waiting.looked(allotment, 0, true)
      this.#lookLater(TROUBLE_MS)
    }
  }

  /** While other nodes have all places, its runs are not taken from the queue only to be given back. */
  async #isStillFull({ agent_seq, limit }: WaitingAgent): Promise<boolean> {
    return typeof limit === 'number' && (await this.#parts.places.isFull(agent_seq, limit))
  }

  /** Mostly runs on other nodes have its places, and nothing tells when they end. */
  #askAgain({ agent_seq }: WaitingAgent): void {
    const again = () => {
      this.#waiting.add(agent_seq)
      this.#look()
    }
    setTimeout(again, FULL_MS).unref()
  }

  async #begin(taken: TakenRun, waiting: WaitingAgent): Promise<Fate> {
    const { live, storage } = this.#parts
    const { invocation, lease } = taken
    const known = await agents.findKnownBySeq(invocation.agent_seq, this.#parts)
    // The runs of a deleted agent are removed later.
    if (!known) return 'gone'
    const here = live.find(invocation.id)
    if (here?.cancellation.cancelled) {
      // It stops, and then the run can begin anew.
      await giveBack(storage.db, lease, invocation.attempt - 1)
      return 'later'
    }
    if (here) {
      // This process slept until its lease ended, and has now taken the run again.
      here.lease = lease
      return 'gone'
    }
    // From here on a pause finds the run and stops it. An earlier pause is read below.
    const run = live.start(invocation.id, known.id)
    run.lease = lease
    try {
      const agent = (await agents.findKnownBySeq(invocation.agent_seq, this.#parts)) ?? known
      // A run that begins for the first time has no stored steps.
      const kept = invocation.attempt > 1 ? await listKept(storage.db, invocation.id) : NOTHING_KEPT
      const definition = kept.definition ?? (await this.#findDefinition(agent, invocation.version))
      this.#waiting.learn(waiting, agent.id, definition.limits.max_concurrency)
      const queued = { ...taken, agent, definition, run, kept: kept.steps, nextPosition: kept.nextPosition }
      const refusal = await admit(run, agent, definition, this.#parts)
      if (refusal === 'no_place' || refusal === 'overloaded' || this.#stop.signal.aborted) {
        // It had a place on this node, so the places of all nodes together are taken.
        const fate = refusal === 'no_place' && run.hasPlace ? 'later' : 'waits'
        await giveBack(storage.db, lease, invocation.attempt - 1)
        leave(run, this.#parts)
        return fate
      }
      this.#track(this.#run(queued, waiting, refusal === 'paused'))
      return 'begun'
    } catch (error) {
      leave(run, this.#parts)
      throw error
    }
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
    this.#waiting.ended(waiting)
    this.#look()
    // Its wait may be over already.
    if (end === 'waits') await this.#tryToWake()
  }

  #reportUnfinished({ invocation: { id: request_id } }: TakenRun, err: unknown): Fate {
    this.#parts.log.warn({ err, request_id }, 'a background run was not finished: it goes on when its lease ends')
    return 'gone'
  }

  /**
   * The definition that answers: the version that was deployed when the invocation was queued, or the present working
   * copy.
   */
  async #findDefinition(agent: Agent, version: string | null): Promise<Definition> {
    if (version === null) return agent
    const { memo, storage } = this.#parts
    const load = async () => (await getVersion(storage.db, agent.id, version)).definition
    return (await memo('deployments', `version ${agent.id} ${version}`, load, () => [agent.id])) as Definition
  }

  #track(work: Promise<void>): void {
    this.#working.add(work)
    work.finally(() => this.#working.delete(work))
  }
}
