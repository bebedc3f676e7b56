import type { Logger } from '../../lib/log.ts'
import type { Database } from '../database.ts'
import type { Storage } from '../open-storage.ts'
import type { NodesTable } from '../tables/service-tables.ts'

/** How often a node tells that it lives. */
const BEAT_MS = 30_000
/** A node that has missed two beats is called silent: it died, or does not reach the database. */
const SILENT_AFTER_MS = 3 * BEAT_MS
const FORGOTTEN_AFTER_MS = 3_600_000

export type NodeState = NodesTable & { status: 'live' | 'silent' }

type Options = {
  storage: Pick<Storage, 'db' | 'engine'>
  node: string
  version: string
  now: () => number
  runsLive: () => number
  log: Logger
}

/**
 * The processes that serve the same database. On PostgreSQL each has a row and renews it twice a minute. A SQLite store
 * has one node, which needs no row.
 */
export class NodeList {
  readonly #options: Options
  readonly #db: Database
  readonly #started_at = Math.round(performance.timeOrigin)
  #loop = performance.eventLoopUtilization()
  #busy_percent = 0
  #timer: NodeJS.Timeout | undefined
  #beating: Promise<void> | undefined

  constructor(options: Options) {
    this.#options = options
    this.#db = options.storage.db
  }

  /** From now on this process is a node: it serves. Resolves when the others can see it. */
  async join(): Promise<void> {
    clearInterval(this.#timer)
    const beat = () => (this.#beating = this.#beat())
    this.#timer = setInterval(beat, BEAT_MS).unref()
    await beat()
  }

  async leave(): Promise<void> {
    if (!this.#timer) return
    clearInterval(this.#timer)
    this.#timer = undefined
    // A beat that is under way would write the row again.
    await this.#beating
    if (!this.#isShared) return
    await this.#db.deleteFrom('nodes').where('node', '=', this.#options.node).execute().catch(this.#report)
  }

  /** This process first, if it is a node, then the others in the order in which they started. */
  async list(): Promise<NodeState[]> {
    const { node, now } = this.#options
    const own = this.#timer ? [this.#state()] : []
    const others = this.#isShared
      ? await this.#db.selectFrom('nodes').selectAll().where('node', '!=', node).orderBy('started_at').execute()
      : []
    const silent_before = now() - SILENT_AFTER_MS
    return [...own, ...others].map((one) => ({ ...one, status: one.seen_at < silent_before ? 'silent' : 'live' }))
  }

  get #isShared(): boolean {
    return this.#options.storage.engine === 'postgres'
  }

  async #beat(): Promise<void> {
    const loop = performance.eventLoopUtilization()
    this.#busy_percent = Math.round(100 * performance.eventLoopUtilization(loop, this.#loop).utilization)
    this.#loop = loop
    if (!this.#isShared) return
    const { node: _node, ...state } = this.#state()
    try {
      await this.#db
        .insertInto('nodes')
        .values({ node: this.#options.node, ...state })
        .onConflict((row) => row.column('node').doUpdateSet(state))
        .execute()
      // Nodes that were killed leave their rows.
      await this.#db
        .deleteFrom('nodes')
        .where('seen_at', '<', state.seen_at - FORGOTTEN_AFTER_MS)
        .execute()
    } catch (err) {
      this.#report(err)
    }
  }

  #state(): NodesTable {
    const { node, version, now, runsLive } = this.#options
    return {
      node,
      version,
      started_at: this.#started_at,
      seen_at: now(),
      runs_live: runsLive(),
      busy_percent: this.#busy_percent,
      memory_bytes: process.memoryUsage.rss(),
    }
  }

  readonly #report = (err: unknown) => this.#options.log.warn({ err }, 'could not tell the other nodes of this one')
}
