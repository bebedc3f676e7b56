import { sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'
import { NODE_DEAD_AFTER_MS } from '../tables/service-tables.ts'
import type { Migration } from './migration.ts'

/**
 * The setting that contains the names of migrations with which the operator allows breaking serving nodes, as a JSON
 * list.
 */
export const CONSENT = 'upgrade_allowed'

/** Selects the nodes that serve a PostgreSQL database. Uses the database's clock. */
export const SERVING_NODES = `select node, version, "commit", seen_at from nodes
  where taken_over_at is null and seen_at > extract(epoch from clock_timestamp()) * 1000 - ${NODE_DEAD_AFTER_MS}
  order by started_at, node`

/** The next migrations would break serving nodes, and the operator hasn't agreed. */
export class ConsentNeededError extends Error {}

/** Which of these migrations break nodes that don't know them. */
export function breaking(migrations: readonly Migration[]): string[] {
  return migrations.filter(({ breaks }) => breaks).map(({ name }) => name)
}

/** Whether the operator has allowed all of these migrations. `setting` is the stored value. */
export function isAllowed(names: readonly string[], setting: string | undefined): boolean {
  const allowed: unknown = JSON.parse(setting ?? '[]')
  return Array.isArray(allowed) && names.every((name) => allowed.includes(name))
}

/**
 * Throws if nodes that serve this database would have to stop. A node serves only with a complete schema, so if there
 * are migrations to run, all serving nodes are older. A SQLite store can have one service, which may be running when
 * the command line migrates.
 */
export async function requireConsent(db: Database, ahead: readonly Migration[], isServed = () => false): Promise<void> {
  const names = breaking(ahead)
  if (names.length === 0) return
  if (isServed()) throw new ConsentNeededError('the upgrade would break the service that is running. Stop it first')
  if (engineOf(db) === 'sqlite') return
  const setting = await db.selectFrom('settings').select('value').where('name', '=', CONSENT).executeTakeFirst()
  if (isAllowed(names, setting?.value)) return
  const { rows } = await sql<{ node: string; version: string }>`${sql.raw(SERVING_NODES)}`.execute(db)
  if (rows.length === 0) return
  const nodes = rows.map(({ node, version }) => `${node} (${version})`).join(', ')
  throw new ConsentNeededError(
    `the upgrade stops older nodes that are still serving: ${nodes}. Stop them, or run \`moorage upgrade allow\``,
  )
}
