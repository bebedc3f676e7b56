import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely'
import { notifyChannel } from './postgres/change-listener.ts'
import type { Tables } from './tables.ts'

/** The whole database, or one of its transactions. Store functions accept either. */
export type Database = Kysely<Tables>

export type Engine = 'sqlite' | 'postgres'

export function engineOf(db: Database): Engine {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

/**
 * Put this after the `select` of a query that most requests need, with a name that no other query has. PostgreSQL then
 * plans the query only once per connection. Planning can take several times longer than the query itself.
 */
export function plannedOnce(name: string): RawBuilder<never> {
  return sql.raw(`/* planned once: ${name} */`)
}

/** The name of a query that is planned once. */
export function plannedName(text: string): string | undefined {
  if (!text.startsWith(PLANNED_ONCE)) return undefined
  return text.slice(PLANNED_ONCE.length, text.indexOf(' */'))
}

const PLANNED_ONCE = 'select /* planned once: '

export const CHANGES = [
  'agents',
  'agents_of_projects',
  'keys',
  'deployments',
  'webhooks',
  'callbacks',
  'deliveries',
  'answers',
  'cancellations',
  'jobs',
  'queue',
  'turns',
  'secrets',
  'connections',
  'providers',
  'prices',
  'projects',
  'pauses',
  'schedules',
  'replays',
  'budgets',
  'schema',
] as const

/** Kinds of data that nodes cache and must drop when it changes, or must react to immediately. */
export type Change = (typeof CHANGES)[number]

/**
 * A kind of change and, after a space, the ID of what has changed. Without an ID, anything of that kind may have
 * changed.
 */
export type Announcement = Change | `${Change} ${string}`

/** What each open transaction has announced. */
const announced = new WeakMap<Database, Set<Announcement>>()

/** Collects in `announcements` what this transaction announces. */
export function collectAnnouncements(transaction: Database, announcements: Set<Announcement>): void {
  announced.set(transaction, announcements)
}

/** When the transaction commits, makes every node drop what it caches for this ID, or for the whole kind. */
export async function announce(db: Database, change: Change, id?: string): Promise<void> {
  const announcements = announced.get(db)
  if (!announcements) throw new Error(`announce(${change}) needs a transaction`)
  const announcement: Announcement = id === undefined ? change : `${change} ${id}`
  if (announcements.has(announcement)) return
  announcements.add(announcement)
  await notifyNodes(db, announcement)
}

/**
 * Notifies the other nodes when the transaction commits. A service on SQLite checks by itself whether its file has
 * changed.
 */
export async function notifyNodes(db: Database, announcement: Announcement): Promise<void> {
  if (engineOf(db) === 'postgres') await sql`select pg_notify(${notifyChannel}, ${announcement})`.execute(db)
}

export function readAnnouncement(announcement: string): { change: Change; id: string | undefined } {
  const space = announcement.indexOf(' ')
  if (space < 0) return { change: announcement as Change, id: undefined }
  return { change: announcement.slice(0, space) as Change, id: announcement.slice(space + 1) }
}
