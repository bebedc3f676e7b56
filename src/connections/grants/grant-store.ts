import { setTimeout as delay } from 'node:timers/promises'
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { jsonOf, readable } from '../../storage/damaged-rows.ts'
import { type Database, engineOf } from '../../storage/database.ts'
import { isAway } from '../../storage/failures.ts'
import { isHeld, type Lease, type LeasedTable, take } from '../../storage/leases/lease.ts'
import { type Page, type PageQuery, page } from '../../storage/queries/page.ts'
import { removeRows } from '../../storage/queries/remove-rows.ts'
import type { Tables } from '../../storage/tables.ts'
import { type ConnectionGrant, PENDING_MS } from './connection-grant.ts'

/** A grant is leased while a node refreshes it. */
export const LEASED_GRANTS: LeasedTable = {
  table: 'connection_grants',
  key: ['id'],
  until: 'lease_until',
  condition: 'owner is not null',
}

type Holder = { connection_id: string; holder: string }

/** The grant that tools use. With `isLocked`, it is locked until the transaction ends. */
export async function findActive(
  db: Database,
  { connection_id, holder }: Holder,
  { isLocked = false } = {},
): Promise<ConnectionGrant | undefined> {
  const select = db
    .selectFrom('connection_grants')
    .selectAll()
    .where('connection_id', '=', connection_id)
    .where('holder', '=', holder)
    .where('status', '=', 'active')
  const row = await (isLocked && engineOf(db) === 'postgres' ? select.forUpdate() : select).executeTakeFirst()
  return row && fromRow(row)
}

/**
 * True for a row of this table if its holder has signed in, other than with the grant that doesn't allow enough, or
 * can't any more because the connection is gone.
 */
export function needsNoSignIn(table: 'approvals'): RawBuilder<SqlBool> {
  const of = (column: 'connection_id' | 'holder' | 'grant_id') => sql.ref(`${table}.${column}`)
  return sql<SqlBool>`(
    not exists (select 1 from connections where connections.id = ${of('connection_id')})
    or exists (select 1 from connection_grants granted where granted.connection_id = ${of('connection_id')}
      and granted.holder = ${of('holder')} and granted.status = 'active'
      and granted.id <> coalesce(${of('grant_id')}, '')))`
}

export async function findOfLink(db: Database, link_id: string): Promise<ConnectionGrant | undefined> {
  const row = await db.selectFrom('connection_grants').selectAll().where('link_id', '=', link_id).executeTakeFirst()
  return row && fromRow(row)
}

type GrantFilter = {
  connection_id: string
  holder?: string | undefined
  status?: ConnectionGrant['status'] | undefined
}

export async function list(
  db: Database,
  query: PageQuery,
  { connection_id, holder, status }: GrantFilter,
): Promise<Page<ConnectionGrant>> {
  let select = db.selectFrom('connection_grants').selectAll().where('connection_id', '=', connection_id)
  if (holder !== undefined) select = select.where('holder', '=', holder)
  if (status !== undefined) select = select.where('status', '=', status)
  const { items, total } = await page(db, select, query)
  return { items: readable(db, items, fromRow), total }
}

/** Every grant of a connection or of a user that has not ended. They are locked until the transaction ends. */
export async function listInUse(
  db: Database,
  which: { connection_id: string; holder?: string | undefined } | { project_id: string; holder: string },
): Promise<ConnectionGrant[]> {
  let select = db.selectFrom('connection_grants').selectAll().where('status', 'in', ['pending', 'active']).orderBy('id')
  for (const [column, value] of Object.entries(which))
    if (value !== undefined) select = select.where(column as 'holder', '=', value)
  const rows = await (engineOf(db) === 'postgres' ? select.forUpdate() : select).execute()
  return readable(db, rows, fromRow)
}

export async function insert(db: Database, grant: ConnectionGrant): Promise<void> {
  await db
    .insertInto('connection_grants')
    .values({
      ...grant,
      scopes: JSON.stringify(grant.scopes),
      asked_scopes: JSON.stringify(grant.asked_scopes),
      wanted_scopes: JSON.stringify(grant.wanted_scopes),
    })
    .execute()
}

/** The grant is used from now on, in place of every other one of its holder. */
export async function activate(
  db: Database,
  { id, connection_id, holder }: ConnectionGrant,
  { wanted_scopes, ...how }: { confirmed_by: string; updated_at: number; wanted_scopes: readonly string[] },
): Promise<ConnectionGrant> {
  await db
    .deleteFrom('connection_grants')
    .where('connection_id', '=', connection_id)
    .where('holder', '=', holder)
    .where('id', '!=', id)
    .execute()
  const row = await db
    .updateTable('connection_grants')
    .set({ status: 'active', ...how, wanted_scopes: JSON.stringify(wanted_scopes) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return fromRow(row)
}

/** The next sign-in of its holder asks for these scopes too. */
export async function want(db: Database, id: string, wanted_scopes: readonly string[]): Promise<void> {
  await db
    .updateTable('connection_grants')
    .set({ wanted_scopes: JSON.stringify(wanted_scopes) })
    .where('id', '=', id)
    .execute()
}

/** Returns how many times it has happened. */
export async function countWrongUser(db: Database, id: string): Promise<number> {
  const { wrong_users } = await db
    .updateTable('connection_grants')
    .set((row) => ({ wrong_users: row('wrong_users', '+', 1) }))
    .where('id', '=', id)
    .returning('wrong_users')
    .executeTakeFirstOrThrow()
  return wrong_users
}

export async function remove(db: Database, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await db.deleteFrom('connection_grants').where('id', 'in', ids).execute()
}

/** The tokens are deleted with it. */
export async function end(
  db: Database,
  id: string,
  how: { status: 'expired' | 'revoked'; ended_reason: string; updated_at: number },
): Promise<void> {
  await db
    .updateTable('connection_grants')
    .set({ ...how, tokens: null, can_refresh: 0, owner: null, lease_until: null })
    .where('id', '=', id)
    .execute()
}

/**
 * Leases the grant to a node, if it still has the tokens of this version and no other node refreshes it. One statement,
 * so that of many nodes one refreshes.
 */
export async function takeToRefresh(
  db: Database,
  { id, version }: ConnectionGrant,
  { owner, now, lease_ms }: { owner: string; now: number; lease_ms: number },
): Promise<{ grant: ConnectionGrant; lease: Lease } | undefined> {
  const until = now + lease_ms
  const locked = engineOf(db) === 'postgres' ? sql`for update skip locked` : sql``
  const due = sql<{ id: string }>`(
    select id from connection_grants
    where id = ${id} and version = ${version} and status = 'active' and (owner is null or lease_until <= ${now})
    ${locked})`
  const [row] = await take<Tables['connection_grants']>(db, LEASED_GRANTS, { due, owner, until })
  return row && { grant: fromRow(row), lease: { key: [id], owner, until } }
}

type Refreshed = Pick<ConnectionGrant, 'tokens' | 'can_refresh' | 'expires_at' | 'updated_at'>

/**
 * Stores what a refresh brought. A node whose lease has ended stores it too, because the provider has taken the earlier
 * tokens back, unless the grant has other tokens by now.
 */
async function putRefreshed(
  db: Database,
  { id, version }: ConnectionGrant,
  renewed: Refreshed,
): Promise<ConnectionGrant | undefined> {
  const row = await db
    .updateTable('connection_grants')
    .set({ ...renewed, version: version + 1, owner: null, lease_until: null })
    .where('id', '=', id)
    .where('version', '=', version)
    .where('status', '=', 'active')
    .returningAll()
    .executeTakeFirst()
  return row && fromRow(row)
}

/** How long new tokens are kept while the database is away, and how often storing them is tried then. */
const KEPT_MS = 300_000
const LONGEST_PAUSE_MS = 1_000

/** The old refresh token is used up, so the new one must not be lost while the database is away. */
export async function putPatiently(
  db: Database,
  grant: ConnectionGrant,
  renewed: Refreshed,
): Promise<ConnectionGrant | undefined> {
  const until = performance.now() + KEPT_MS
  for (let tries = 1; ; tries++) {
    try {
      return await putRefreshed(db, grant, renewed)
    } catch (error) {
      if (!isAway(error) || performance.now() > until) throw error
      await delay(Math.min(tries * 100, LONGEST_PAUSE_MS), undefined, { ref: false })
    }
  }
}

export async function giveBack(db: Database, lease: Lease): Promise<void> {
  await db
    .updateTable('connection_grants')
    .set({ owner: null, lease_until: null })
    .where(isHeld(LEASED_GRANTS, lease))
    .execute()
}

/** Of all connections of the project, ended ones too. */
export async function removeOfUser(
  db: Database,
  { project_id, holder }: { project_id: string; holder: string },
): Promise<void> {
  await db.deleteFrom('connection_grants').where('project_id', '=', project_id).where('holder', '=', holder).execute()
}

/** All that is known about a user's sign-ins: a few for each connection. */
export async function listOfUser(
  db: Database,
  { project_id, holder }: { project_id: string; holder: string },
): Promise<ConnectionGrant[]> {
  const select = db.selectFrom('connection_grants').selectAll().where('project_id', '=', project_id)
  return readable(db, await select.where('holder', '=', holder).orderBy('id').execute(), fromRow)
}

/** Removes unconfirmed sign-ins. */
export function removeUnconfirmed(db: Database, now: number, limit: number): Promise<number> {
  const which = sql<boolean>`status = 'pending' and created_at < ${now - PENDING_MS}`
  return removeRows(db, 'connection_grants', { which, limit })
}

function fromRow(row: Tables['connection_grants']): ConnectionGrant {
  const json = jsonOf('grant', row)
  const scopes = json<string[]>('scopes')
  return {
    ...row,
    scopes,
    asked_scopes: json('asked_scopes') ?? scopes,
    wanted_scopes: json('wanted_scopes') ?? [],
  }
}
