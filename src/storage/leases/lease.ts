import { randomUUID } from 'node:crypto'
import { type Expression, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Logger } from '../../lib/log.ts'
import type { Database } from '../database.ts'

/** How long a row stays with an owner that no longer renews its lease, unless the work defines another time. */
export const LEASE_MS = 30_000
/** How many renewals can fail before the lease ends. */
const RENEWALS = 3
const RENEWED_AT_ONCE = 500

/**
 * A table whose rows are leased. A lease is one owner's right to a row until a certain time. The owner renews it while
 * it works. If the owner dies, the lease isn't renewed, and then any other owner can take over the row. Every write of
 * an owner to its row has the condition that it still holds the lease.
 */
export type LeasedTable = {
  table: 'claims' | 'cases' | 'chat_answers' | 'deliveries' | 'runs' | 'jobs' | 'ledger' | 'connection_grants'
  /** The columns that identify a row. The owner is in the column `owner`. */
  key: readonly string[]
  /** The column with the end of the lease. */
  until: 'lease_until' | 'next_attempt_at' | 'run_at' | 'due_at'
  /** A condition in SQL that is true for leased rows. It repeats the condition of the index that the queries use. */
  condition: string
}

/** The values of a row's key, its owner, and when the lease ends. */
export type Lease = { key: readonly string[]; owner: string; until: number }

/**
 * A name for this process that is unique among all processes that use the store. The owner of its leases is this name,
 * or starts with it.
 */
export function nodeName(kind: 'service' | 'cli'): string {
  return `${kind}:${randomUUID()}`
}

/**
 * The owner of rows that this node takes now. Each taking has a name of its own, so that late work on a row whose lease
 * has ended can't be mistaken for the work of the same node after it took the row again. Runs don't need that: their
 * owner is the node, which works on a run only once at a time (`BackgroundRuns`).
 */
export function newOwner(node: string): string {
  return `${node}:${randomUUID()}`
}

/** True for a leased row while its owner holds the lease. */
export function isHeld({ table, key, condition }: LeasedTable, lease: Omit<Lease, 'until'>): RawBuilder<SqlBool> {
  const column = (name: string) => sql.ref(`${table}.${name}`)
  const named = key.map((name, i) => sql`${column(name)} = ${lease.key[i]}`)
  return sql<SqlBool>`${sql.join([...named, sql`${column('owner')} = ${lease.owner}`, sql.raw(condition)], sql` and `)}`
}

/** True for rows whose lease has ended. */
export function hasLapsed({ table, until, condition }: LeasedTable, now: number): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.raw(condition)} and ${sql.ref(`${table}.${until}`)} <= ${now}`
}

type TakeQuery = {
  /** Selects the `id` of the rows to take. On PostgreSQL, it should lock them and skip rows that others have locked. */
  due: Expression<{ id: string }>
  owner: string
  until: number
  /** Further changes to the rows, and the columns to return, as SQL. */
  changes?: RawBuilder<unknown>
  returning?: RawBuilder<unknown>
}

/** Leases rows to an owner. One statement does this, so no other owner gets the same rows. */
export async function take<Row>(db: Database, leased: LeasedTable, taking: TakeQuery): Promise<Row[]> {
  const { due, owner, until, changes, returning = sql`*` } = taking
  const sets = [sql`owner = ${owner}`, sql`${sql.ref(leased.until)} = ${until}`, ...(changes ? [changes] : [])]
  const { rows } = await sql<Row>`
    with due as materialized ${due}
    update ${sql.table(leased.table)} set ${sql.join(sets)}
    where id in (select id from due) returning ${returning}`.execute(db)
  return rows
}

/**
 * Extends leases by primary key and in small statements, so others don't wait long. Returns the leases that are still
 * held.
 */
export async function renew(
  db: Database,
  leased: LeasedTable,
  leases: readonly Lease[],
  until: number,
): Promise<Lease[]> {
  const { table, key, condition } = leased
  const names = sql.join([...key, 'owner'].map((name) => sql.ref(name)))
  const kept = new Set<string>()
  for (let from = 0; from < leases.length; from += RENEWED_AT_ONCE) {
    const some = leases.slice(from, from + RENEWED_AT_ONCE)
    const values = sql.join(some.map((lease) => sql`(${sql.join([...lease.key, lease.owner])})`))
    const { rows } = await sql<Record<string, string>>`
      update ${sql.table(table)} set ${sql.ref(leased.until)} = ${until}
      where (${names}) in (values ${values}) and ${sql.raw(condition)} returning ${names}`.execute(db)
    for (const row of rows) kept.add(JSON.stringify([...key, 'owner'].map((name) => row[name])))
  }
  const still = leases.filter((lease) => kept.has(JSON.stringify([...lease.key, lease.owner])))
  for (const lease of still) lease.until = until
  return still
}

export type LeaseUpkeep = {
  db: Database
  now: () => number
  log: Logger
  lease_ms: number
  /** The leases that are currently held. */
  held(): Lease[]
  /** Called when another owner has the row, or may have it. */
  lost(lease: Lease): void
}

/** Renews every lease that is held. */
export async function renewHeld(
  leased: LeasedTable,
  { db, now, log, lease_ms, held, lost }: LeaseUpkeep,
): Promise<void> {
  const leases = held()
  if (leases.length === 0) return
  let gone: Lease[]
  try {
    const kept = new Set(await renew(db, leased, leases, now() + lease_ms))
    gone = leases.filter((lease) => !kept.has(lease))
  } catch (err) {
    log.warn({ err }, `could not renew the leases of ${leased.table}`)
    gone = leases.filter(({ until }) => until <= now())
  }
  // A lease that was released in the meantime isn't lost.
  const stillHeld = new Set(held())
  for (const lease of gone) if (stillHeld.has(lease)) lost(lease)
}

/** Renews every held lease periodically. Returns a function that stops it. */
export function keepLeases(leased: LeasedTable, keeping: LeaseUpkeep): () => void {
  const timer = setInterval(() => renewHeld(leased, keeping), keeping.lease_ms / (RENEWALS + 1)).unref()
  return () => clearInterval(timer)
}

/**
 * Ends a dead node's leases, and returns how many. `node` is its name, or the prefix that the names of all services
 * share.
 */
export async function endLeases(
  db: Database,
  { table, until, condition }: LeasedTable,
  node: string,
  now: number,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update ${sql.table(table)} set ${sql.ref(until)} = ${now}
    where owner like ${`${node}%`} and ${sql.ref(until)} > ${now} and ${sql.raw(condition)}`.execute(db)
  return Number(numAffectedRows)
}
