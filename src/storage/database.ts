import { type Kysely, PostgresAdapter, sql } from 'kysely'
import { notifyChannel } from './postgres/postgres.ts'
import type { Tables } from './tables.ts'

/** The whole database or one transaction of it: a store's functions take either. */
export type Database = Kysely<Tables>

export type Engine = 'sqlite' | 'postgres'

export function engineOf(db: Database): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

export const CHANGES = [
  'agents',
  'keys',
  'deployments',
  'webhooks',
  'deliveries',
  'cancellations',
  'jobs',
  'queue',
  'secrets',
] as const

/** What nodes keep in memory and must forget when it changes, or must see to at once. */
export type Change = (typeof CHANGES)[number]

/** What each transaction under way has announced. */
const announced = new WeakMap<Database, Set<Change>>()

/** Collects in `changes` what this transaction announces. */
export function collectChanges(transaction: Database, changes: Set<Change>): void {
  announced.set(transaction, changes)
}

/** Makes every node forget what it remembers of this kind, once the transaction commits. */
export async function announce(db: Database, change: Change): Promise<void> {
  const changes = announced.get(db)
  if (!changes) throw new Error(`announce(${change}) needs a transaction`)
  changes.add(change)
  if (engineOf(db) === 'postgres') await sql`select pg_notify(${notifyChannel}, ${change})`.execute(db)
}
