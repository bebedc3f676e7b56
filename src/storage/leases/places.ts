import { type RawBuilder, sql } from 'kysely'
import type { Logger } from '../../lib/log.ts'
import { announce, type Database } from '../database.ts'
import type { Storage } from '../open-storage.ts'
import { missingAgents } from '../queries/missing-agents.ts'
import { LEASE_MS } from './lease.ts'

/** Nodes that want the same places at the same moment may collide. So many tries are made. */
const TRIES = 5

/** The places of agents that may have only so many runs at once, counted over all nodes. */
export type Places = {
  /** Gives the run a place of its agent, unless `limit` of them are taken. */
  take(run: object, agent_seq: number, limit: number): boolean | Promise<boolean>
  /** Whether `limit` places of the agent are taken. */
  isFull(agent_seq: number, limit: number): boolean | Promise<boolean>
  /** Gives the place back, if the run has one. */
  release(run: object): undefined | Promise<void>
  /** Runs of the agent wait here: when another node gives back one of its places, it announces `places`. */
  waitFor(agent_seq: number): Promise<void>
  close(): Promise<void>
}

type Options = { storage: Storage; node: string; now: () => number; log: Logger }

/** A SQLite store has one node, which counts its own runs. */
export function openPlaces(options: Options): Places {
  if (options.storage.engine === 'postgres') return new SharedPlaces(options)
  return {
    take: () => true,
    isFull: () => false,
    release: () => undefined,
    waitFor: async () => {},
    close: async () => {},
  }
}

/** No node gives back what it had when it died. All places of an agent are few. */
export async function removeOfMissingAgents(db: Database): Promise<number> {
  const agents = await missingAgents(db, 'places')
  if (agents.length === 0) return 0
  const { numDeletedRows } = await db.deleteFrom('places').where('agent_seq', 'in', agents).executeTakeFirst()
  return Number(numDeletedRows)
}

type Slot = { agent_seq: number; slot: number }
type Asked = { run: object; resolve: (has: boolean) => void; reject: (error: unknown) => void }

/**
 * Each place is a row, leased by the node whose run has it. Two nodes cannot insert the same row, and the places of a
 * dead node are free when their leases end. All requests of one pass of the event loop become one statement.
 */
class SharedPlaces implements Places {
  readonly #db: Database
  readonly #options: Options
  readonly #slots = new Map<object, Slot>()
  #asked = new Map<string, Asked[]>()
  #freed: Slot[] = []
  /** The agents whose places other nodes wait for. Each of them is told once, and asks again if it was too slow. */
  readonly #waitedFor = new Set<number>()
  #freeing: Promise<void> | undefined
  readonly #timer: NodeJS.Timeout

  constructor(options: Options) {
    this.#options = options
    this.#db = options.storage.db
    this.#timer = setInterval(() => this.#tend(), LEASE_MS / 4).unref()
    options.storage.onChange((change, id) => {
      const [agent_seq, node] = id?.split(' ') ?? []
      if (change === 'waits' && node !== options.node) this.#waitedFor.add(Number(agent_seq))
    })
  }

  take(run: object, agent_seq: number, limit: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (this.#asked.size === 0) setImmediate(() => this.#askAll())
      const key = `${agent_seq} ${limit}`
      const asked = this.#asked.get(key) ?? []
      this.#asked.set(key, asked)
      asked.push({ run, resolve, reject })
    })
  }

  async isFull(agent_seq: number, limit: number): Promise<boolean> {
    const held = await this.#db
      .selectFrom('places')
      .select('slot')
      .where('agent_seq', '=', agent_seq)
      .where('lease_until', '>', this.#options.now())
      .limit(limit)
      .execute()
    return held.length >= limit
  }

  release(run: object): undefined | Promise<void> {
    const slot = this.#slots.get(run)
    if (!slot) return undefined
    this.#slots.delete(run)
    this.#freed.push(slot)
    return this.#freeSoon()
  }

  waitFor(agent_seq: number): Promise<void> {
    const { storage, node } = this.#options
    return storage.transaction((db) => announce(db, 'waits', `${agent_seq} ${node}`))
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#freeing
    await sql`delete from places where owner = ${this.#options.node}`.execute(this.#db).catch(() => {})
  }

  #askAll(): void {
    const all = this.#asked
    this.#asked = new Map()
    for (const [key, asked] of all) {
      const [agent_seq = 0, limit = 0] = key.split(' ').map(Number)
      void this.#takeSlots(agent_seq, limit, asked)
    }
  }

  /** A run has its place as soon as one try got it. A later try that fails leaves it that place. */
  async #takeSlots(agent_seq: number, limit: number, asked: Asked[]): Promise<void> {
    const waiting = [...asked]
    try {
      for (let tries = 0; tries < TRIES && waiting.length > 0; tries++) {
        const { slots, free } = await this.#tryToTake(agent_seq, limit, waiting.length)
        for (const [i, { run, resolve }] of waiting.splice(0, slots.length).entries()) {
          this.#slots.set(run, { agent_seq, slot: slots[i] as number })
          resolve(true)
        }
        if (free === 0) break
      }
      for (const { resolve } of waiting) resolve(false)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }

  /** `free` is how many places it tried to take. Another node may have taken some of them first. */
  async #tryToTake(agent_seq: number, limit: number, wanted: number): Promise<{ slots: number[]; free: number }> {
    const { node, now } = this.#options
    const time = now()
    const { rows } = await sql<{ slots: number[]; free: number }>`
      with held as (select slot from places where agent_seq = ${agent_seq} and lease_until > ${time}),
      free as (
        select s.slot from generate_series(1, ${limit}::int) as s(slot)
        where not exists (select 1 from held where held.slot = s.slot)
        order by random() limit greatest(0, least(${wanted}::int, ${limit}::int - (select count(*) from held)::int))),
      taken as (
        insert into places (agent_seq, slot, owner, lease_until)
        select ${agent_seq}::bigint, free.slot, ${node}, ${time + LEASE_MS}::bigint from free order by free.slot
        on conflict (agent_seq, slot) do update set owner = excluded.owner, lease_until = excluded.lease_until
        where places.lease_until <= ${time} returning slot)
      select array(select slot::int from taken) as slots, (select count(*)::int from free) as free`.execute(this.#db)
    return rows[0] ?? { slots: [], free: 0 }
  }

  #freeSoon(): Promise<void> {
    this.#freeing ??= new Promise<void>((done) => setImmediate(done)).then(() => {
      this.#freeing = undefined
      return this.#free()
    })
    return this.#freeing
  }

  /** A place that cannot be given back now is given back later, or when its lease ends. */
  async #free(): Promise<void> {
    const slots = this.#freed
    this.#freed = []
    if (slots.length === 0) return
    try {
      await sql`delete from places using ${this.#ours(slots)}`.execute(this.#db)
    } catch (err) {
      this.#freed.push(...slots)
      this.#options.log.warn({ err }, 'places of agents could not be given back yet')
      return
    }
    await this.#tellWaiting(slots)
  }

  async #tellWaiting(slots: readonly Slot[]): Promise<void> {
    const waited = new Set(slots.map(({ agent_seq }) => agent_seq).filter((seq) => this.#waitedFor.delete(seq)))
    if (waited.size === 0) return
    const { storage, log } = this.#options
    const told = storage.transaction(async (db) => {
      for (const agent_seq of waited) await announce(db, 'places', String(agent_seq))
    })
    await told.catch((err) => log.warn({ err }, 'other nodes were not told of places that are free'))
  }

  /**
   * Renews the leases of the places that runs have. If the reply to an insert was lost, no run knows of its place: its
   * lease ends.
   */
  async #tend(): Promise<void> {
    const { now, log } = this.#options
    await this.#free()
    if (this.#slots.size === 0) return
    try {
      const used = this.#ours([...this.#slots.values()])
      await sql`update places set lease_until = ${now() + LEASE_MS} from ${used}`.execute(this.#db)
    } catch (err) {
      log.warn({ err }, 'could not renew the leases of places')
    }
  }
  /** The end of a statement that changes these places, as far as this node still has them. */
  #ours(slots: Slot[]): RawBuilder<unknown> {
    const rows = JSON.stringify(slots.map(({ agent_seq, slot }) => [agent_seq, slot]))
    return sql`jsonb_array_elements(${rows}::jsonb) r
      where agent_seq = (r ->> 0)::bigint and slot = (r ->> 1)::bigint and owner = ${this.#options.node}`
  }
}
