import { conflict, notFound } from '../errors.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { announce, type Database, engineOf } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import type { Tables } from '../storage/tables.ts'
import type { Connection } from './connection.ts'

/** The most connections a project may have. */
const MAX_CONNECTIONS = 200

type ConnectionRef = { project_id: string; name: string }

/** With `isLocked`, no other transaction changes it until this one ends. */
export async function find(
  db: Database,
  { project_id, name }: ConnectionRef,
  { isLocked = false } = {},
): Promise<Connection | undefined> {
  const row = await db
    .selectFrom('connections')
    .selectAll()
    .where('project_id', '=', project_id)
    .where('name', '=', name)
    .$if(isLocked && engineOf(db) === 'postgres', (select) => select.forUpdate())
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function get(db: Database, ref: ConnectionRef): Promise<Connection> {
  const found = await find(db, ref)
  if (!found) throw notFound('Connection', ref.name)
  return found
}

export async function findById(db: Database, id: string): Promise<Connection | undefined> {
  const row = await db.selectFrom('connections').selectAll().where('id', '=', id).executeTakeFirst()
  return row && fromRow(row)
}

export async function list(db: Database, project_id: string, query: PageQuery): Promise<Page<Connection>> {
  const select = db.selectFrom('connections').selectAll().where('project_id', '=', project_id)
  const { items, total } = await page(db, select, query, { tieBreakers: ['name'] })
  return { items: readable(db, items, fromRow), total }
}

/** Inserts the connection, or replaces the one with its ID. */
export async function put(db: Database, connection: Connection): Promise<void> {
  const { project_id } = connection
  const { id: _same, created_at: _begun, ...changes } = toRow(connection)
  await db
    .insertInto('connections')
    .values(toRow(connection))
    .onConflict((known) => known.column('id').doUpdateSet(changes))
    .execute()
  const total = await countAll(db.selectFrom('connections').where('project_id', '=', project_id))
  if (total > MAX_CONNECTIONS)
    throw conflict(`There are already ${MAX_CONNECTIONS} connections, the maximum. Delete one first.`)
  await announce(db, 'connections', project_id)
}

/**
 * The client that the service has registered itself as, in place of the one that was read. If another node was first,
 * nothing changes.
 */
export async function setRegistration(db: Database, read: Connection, sealed: string): Promise<void> {
  const { id, project_id, registration } = read
  await db
    .updateTable('connections')
    .set({ registration: sealed })
    .where('id', '=', id)
    .where('registration', registration === null ? 'is' : '=', registration)
    .execute()
  await announce(db, 'connections', project_id)
}

/** Its grants and links are deleted with it. */
export async function remove(db: Database, { id, project_id }: Connection): Promise<void> {
  await db.deleteFrom('connections').where('id', '=', id).execute()
  await announce(db, 'connections', project_id)
}

/** The names of these connections, by ID. */
export async function namesOf(db: Database, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('connections').select(['id', 'name']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

function toRow({ scopes, hosts, return_origins, ...row }: Connection): Tables['connections'] {
  return {
    ...row,
    scopes: JSON.stringify(scopes),
    hosts: JSON.stringify(hosts),
    return_origins: JSON.stringify(return_origins),
  }
}

function fromRow(row: Tables['connections']): Connection {
  const json = jsonOf('connection', row)
  return { ...row, scopes: json('scopes'), hosts: json('hosts'), return_origins: json('return_origins') }
}
