import type { Logger } from '../../lib/log.ts'
import type { Database } from '../database.ts'
import type { Storage } from '../open-storage.ts'
import { NODE_DEAD_AFTER_MS } from '../tables/service-tables.ts'
import type { Tables } from '../tables.ts'

/** How often a node reports that it is alive, and checks the others. */
const BEAT_MS = 1_000
/**
 * If a node hasn't checked the others for this long, it was suspended itself or the database was unavailable. It then
 * doesn't declare others dead yet.
 */
const AWAY_MS = 3_000
const FORGOTTEN_AFTER_MS = 3_600_000

export type NodeState = Tables['nodes'] & { status: 'live' | 'silent' }

type Options = {
  storage: Pick<Storage, 'db' | 'engine'>
  node: string
  version: string
  commit: string | null
  now: () => number
  runsLive: () => number
  log: Logger
}

type DeathListener = (node: string) => Promise<void>

/** What another node last reported, and since when it has reported nothing new. */
type NodeReport = { seen_at: number; since: number; isDead: boolean }

/**
 * The processes that serve the same database. On PostgreSQL, each has a row that it renews every second, and notices
 * when another one dies. A SQLite store has only one node, which needs no row.
 */
export class NodeList {
  readonly #options: Options
  readonly #db: Database
  readonly #started_at = Math.round(performance.timeOrigin)
  #loop = performance.eventLoopUtilization()
  #busy_percent = 0
  #timer: NodeJS.Timeout | undefined
  #beating: Promise<void> | undefined
  #lookedAt = Number.NEGATIVE_INFINITY
  #heard = new Map<string, NodeReport>()
  readonly #onDeath: DeathListener[] = []

  constructor(options: Options) {
    this.#options = options
    this.#db = options.storage.db
  }

  /** Makes this process a serving node. Resolves when the others can see it. */
  async join(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = setInterval(() => this.#beatAlone(), BEAT_MS).unref()
    await this.#beatAlone()
  }

  /** Calls the listener when another node has died. If the listener fails, it is called again shortly afterwards. */
  onDeath(listener: DeathListener): void {
    this.#onDeath.push(listener)
  }

  async leave(): Promise<void> {
    if (!this.#timer) return
    clearInterval(this.#timer)
    this.#timer = undefined
    // A report in progress would write the row again.
    await this.#beating
    if (!this.#isShared) return
    await this.#db.deleteFrom('nodes').where('node', '=', this.#options.node).execute().catch(this.#report)
  }

  /** This process first if it is a node, then the others in the order in which they started. */
  async list(): Promise<NodeState[]> {
    const { node, now } = this.#options
    const own = this.#timer ? [this.#state()] : []
    const others = this.#isShared
      ? await this.#db.selectFrom('nodes').selectAll().where('node', '!=', node).orderBy('started_at').execute()
      : []
    const silent_before = now() - NODE_DEAD_AFTER_MS
    return [...own, ...others].map((one) => ({ ...one, status: one.seen_at < silent_before ? 'silent' : 'live' }))
  }

  /** How many nodes there are as far as this node knows. */
  get live(): number {
    return 1 + [...this.#heard.values()].filter(({ isDead }) => !isDead).length
  }

  get #isShared(): boolean {
    return this.#options.storage.engine === 'postgres'
  }

  /** Reports only one at a time, so a report never overtakes a slow one. */
  async #beatAlone(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = undefined
    })
    await this.#beating
  }

  async #beat(): Promise<void> {
    const loop = performance.eventLoopUtilization()
    this.#busy_percent = Math.round(100 * performance.eventLoopUtilization(loop, this.#loop).utilization)
    this.#loop = loop
    if (!this.#isShared) return
    const { node, ...state } = this.#state()
    try {
      const others = await this.#db
        .with('beat', (db) =>
          db
            .insertInto('nodes')
            .values({ node, ...state })
            .onConflict((row) => row.column('node').doUpdateSet(state))
            .returning('node'),
        )
        .selectFrom('nodes')
        .select(['node', 'seen_at', 'taken_over_at'])
        .where('node', '!=', node)
        .execute()
      await this.#judge(others)
      const forgotten = state.seen_at - FORGOTTEN_AFTER_MS
      // Killed nodes leave their rows behind.
      if (others.some(({ seen_at }) => seen_at < forgotten)) {
        await this.#db.deleteFrom('nodes').where('seen_at', '<', forgotten).execute()
      }
    } catch (err) {
      this.#report(err)
    }
  }

  /** Uses the time that passes on this node and no clock, because clocks can be changed and nodes' clocks differ. */
  async #judge(others: readonly Pick<Tables['nodes'], 'node' | 'seen_at' | 'taken_over_at'>[]): Promise<void> {
    const time = performance.now()
    const wasAway = time - this.#lookedAt > AWAY_MS
    this.#lookedAt = time
    const before = this.#heard
    this.#heard = new Map()
    for (const { node, seen_at, taken_over_at } of others) {
      const known = before.get(node)
      const isNews = wasAway || known?.seen_at !== seen_at
      this.#heard.set(node, isNews ? { seen_at, since: time, isDead: taken_over_at !== null } : known)
    }
    for (const [node, heard] of this.#heard) {
      if (heard.isDead || time - heard.since < NODE_DEAD_AFTER_MS) continue
      for (const listener of this.#onDeath) await listener(node)
      heard.isDead = true
      await this.#noteDeath(node, heard.seen_at)
    }
  }

  /** Every node notices a death, but only one logs it. Nodes that start later find the note. */
  async #noteDeath(node: string, seen_at: number): Promise<void> {
    const { numUpdatedRows } = await this.#db
      .updateTable('nodes')
      .set({ taken_over_at: this.#options.now() })
      .where('node', '=', node)
      .where('seen_at', '=', seen_at)
      .where('taken_over_at', 'is', null)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows > 0n) this.#options.log.warn({ node }, 'a node has stopped; its work is being taken over')
  }

  #state(): Tables['nodes'] {
    const { node, version, commit, now, runsLive } = this.#options
    return {
      node,
      version,
      commit,
      started_at: this.#started_at,
      seen_at: now(),
      runs_live: runsLive(),
      busy_percent: this.#busy_percent,
      memory_bytes: process.memoryUsage.rss(),
      taken_over_at: null,
    }
  }

  readonly #report = (err: unknown) => this.#options.log.warn({ err }, 'could not report this node to the other nodes')
}
