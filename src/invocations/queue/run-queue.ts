import { UnderWay } from '../../lib/work/under-way.ts'
import { waitAtMost } from '../../lib/work/wait-at-most.ts'
import type { Parts } from '../../operation/parts.ts'
import { announce } from '../../storage/database.ts'
import { LEASE_MS } from '../../storage/leases/lease.ts'
import { QUEUED_AGENT, QUEUED_TABLES } from '../rows/invocation-rows.ts'
import { BackgroundRuns } from './background-runs.ts'
import { listWaitingAgents, takeQueued } from './queue-store.ts'
import { type Allotment, type WaitingAgent, WaitingAgents } from './waiting-agents.ts'
import { WaitingRuns } from './waiting-runs.ts'

/** How many background runs this node has at once. They mostly wait for a model. Others wait in the queue. */
const PLACES = { total: 64, ofOneAgent: 32 }
/** The node that queues a run also begins it, unless it is busy. Other nodes wait so long before they do. */
const HEAD_START_MS = 100
const SURVEY_EVERY_MS = 1_000
const TROUBLE_MS = 1_000
const OVERLOAD_MS = 250
/** An agent whose places the runs of other nodes have is not looked at more often than this. */
const FULL_MS = 200
/** Nodes that begin, or that missed it, are told again after so long that runs wait for a place. */
const TOLD_MS = 5_000
/** How long runs may take to end once the service stops. */
const STOP_MS = 5_000

/**
 * Runs what `Prefer: respond-async` has queued. A run begins when its agent has a place for it, in the order in which
 * runs came, and agents alternate. Nothing is polled: a queued run and a freed place wake the queue.
 */
export class RunQueue {
  readonly #parts: Parts
  readonly #waiting: WaitingAgents
  readonly #waitingRuns: WaitingRuns
  readonly #runs: BackgroundRuns
  readonly #underWay = new UnderWay()
  #lookTimer: NodeJS.Timeout | undefined
  #surveyTimer: NodeJS.Timeout | undefined
  #surveyedAt = Number.NEGATIVE_INFINITY
  #isClosed = false

  constructor(parts: Parts) {
    const { journal, live, storage } = parts
    this.#parts = parts
    this.#waiting = new WaitingAgents({ ...PLACES, taken: (agent_id) => live.taken(agent_id) })
    this.#waitingRuns = new WaitingRuns(parts, () => this.survey())
    this.#runs = new BackgroundRuns(parts, {
      waiting: this.#waiting,
      underWay: this.#underWay,
      onEnd: async (end) => {
        this.#look()
        // Its wait may be over already.
        if (end === 'waits') await this.#waitingRuns.tryToWake()
      },
    })
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
      // People have decided what a run of this agent waited for. That is rare, so no node waits before it looks.
      if (change === 'queue' && id !== undefined) this.#lookFor(Number(id))
      if (change === 'places' && id !== undefined) this.#onFreedElsewhere(Number(id))
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

  /** Queues the runs whose wait is over. */
  wake(): Promise<void> {
    return this.#waitingRuns.wake()
  }

  /** A pause cancels the agent's runs, also those that wait. Without an id, every paused agent is meant. */
  wakePaused(agent_id: string | undefined): Promise<void> {
    return this.#waitingRuns.wakePaused(agent_id)
  }

  /**
   * Begins no more runs. Those under way are cancelled, and wait at their old positions in the queue for another node,
   * or for the next start.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#lookTimer)
    clearTimeout(this.#surveyTimer)
    this.#waitingRuns.close()
    const cancelled = this.#runs.stop()
    await waitAtMost(this.#underWay.ended(), STOP_MS)
    const { storage, log } = this.#parts
    if (cancelled === 0) return
    await storage
      .transaction((db) => announce(db, 'queue'))
      .catch((err) => log.warn({ err }, 'other nodes were not told of the runs that wait again'))
  }

  /** Other nodes announce queued runs, perhaps many times a second. */
  #surveySoon(): void {
    if (this.#surveyTimer || this.#isClosed) return
    const pause = Math.max(HEAD_START_MS, this.#surveyedAt + SURVEY_EVERY_MS - performance.now())
    this.#surveyTimer = setTimeout(() => {
      this.#surveyTimer = undefined
      this.survey().catch((err) => this.#parts.log.warn({ err }, 'could not look for queued invocations'))
    }, pause).unref()
  }

  #lookFor(agent_seq: number): void {
    this.#waiting.add(agent_seq)
    this.#look()
  }

  #look(): void {
    if (this.#isClosed) return
    if (!this.#parts.journal.hasRoom()) return this.#lookLater(OVERLOAD_MS)
    for (const allotment of this.#waiting.allot()) this.#underWay.track(this.#serve(allotment))
  }

  #lookLater(pause: number): void {
    this.#lookTimer ??= setTimeout(() => {
      this.#lookTimer = undefined
      this.#look()
    }, pause).unref()
  }

  async #serve(allotment: Allotment): Promise<void> {
    const { agent } = allotment
    try {
      if (agent.isFull && (await this.#isStillFull(agent))) {
        this.#waiting.looked(allotment, 0, true, true)
        return this.#waitForPlace(agent)
      }
      const { begun, hasMore, isFull, isHeldUp } = await this.#beginRuns(allotment)
      this.#waiting.looked(allotment, begun, hasMore, isFull || isHeldUp)
      if (isHeldUp) this.#lookSoonFor(agent)
      if (isFull) this.#waitForPlace(agent)
      this.#look()
    } catch (err) {
      this.#parts.log.warn({ err }, 'could not look for queued invocations')
      this.#waiting.looked(allotment, 0, true)
      this.#lookLater(TROUBLE_MS)
    }
  }

  async #beginRuns({ agent, places: limit }: Allotment) {
    const { node: owner, now, storage } = this.#parts
    const lease = { owner, now: now(), lease_ms: LEASE_MS }
    const found = await takeQueued(storage.db, { agent_seq: agent.agent_seq, limit, ...lease })
    const fates = []
    for (const run of found.taken) fates.push(await this.#runs.begin(run, agent))
    const begun = fates.filter((fate) => fate === 'begun').length
    const isFull = fates.includes('full')
    // Others hold its rows for a moment, or its last attempt stops.
    const isHeldUp = found.isHeldUp || fates.includes('later')
    return { begun, hasMore: found.hasMore || isFull || isHeldUp || fates.includes('waits'), isFull, isHeldUp }
  }

  /** While other nodes have all places, its runs are not taken from the queue only to be given back. */
  async #isStillFull({ agent_seq, limit }: WaitingAgent): Promise<boolean> {
    return typeof limit === 'number' && (await this.#parts.places.isFull(agent_seq, limit))
  }

  /**
   * The nodes whose runs have its places tell when one is free, once they know that somebody waits. It may have become
   * free before they knew, so it is looked for once more.
   */
  #waitForPlace(agent: WaitingAgent): void {
    const { places, log } = this.#parts
    const time = performance.now()
    if (time - agent.waitsSince < TOLD_MS) return
    agent.waitsSince = time
    this.#lookSoonFor(agent)
    const told = places.waitFor(agent.agent_seq)
    this.#underWay.track(told.catch((err) => log.warn({ err }, 'other nodes were not told that runs wait for a place')))
  }

  /** Another node has given back a place. It tells so once, and then must hear again that runs wait. */
  #onFreedElsewhere(agent_seq: number): void {
    const agent = this.#waiting.find(agent_seq)
    if (!agent) return
    const since = performance.now() - agent.waitsSince
    agent.waitsSince = Number.NEGATIVE_INFINITY
    if (agent.hasMore) this.#lookSoonFor(agent, Math.max(0, FULL_MS - since))
  }

  #lookSoonFor({ agent_seq }: WaitingAgent, pause = FULL_MS): void {
    setTimeout(() => this.#lookFor(agent_seq), pause).unref()
  }
}
