import { conflict, notFound } from '../errors.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { announce, type Database } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import type { StoredSecret } from './secret.ts'

/** The most secrets a project may have: all of them are opened together when a tool first needs one. */
const MAX_SECRETS = 500

export async function list(db: Database, project_id: string, query: PageQuery): Promise<Page<StoredSecret>> {
  const select = db.selectFrom('secrets').selectAll().where('project_id', '=', project_id)
  const { items, total } = await page(db, select, query, { tieBreakers: ['name'] })
  return { items: readable(db, items, fromRow), total }
}

export async function listAll(db: Database, project_id: string): Promise<StoredSecret[]> {
  const rows = await db.selectFrom('secrets').selectAll().where('project_id', '=', project_id).orderBy('name').execute()
  return readable(db, rows, fromRow)
}

/** Inserts the secret, or replaces the one of the same name. Returns when that name was first set. */
export async function put(db: Database, secret: Omit<StoredSecret, 'created_at'>): Promise<{ created_at: number }> {
  const { project_id, name, value, updated_at } = secret
  const hosts = JSON.stringify(secret.hosts)
  const { created_at } = await db
    .insertInto('secrets')
    .values({ project_id, name, value, hosts, created_at: updated_at, updated_at })
    .onConflict((known) => known.columns(['project_id', 'name']).doUpdateSet({ value, hosts, updated_at }))
    .returning('created_at')
    .executeTakeFirstOrThrow()
  if ((await count(db, project_id)) > MAX_SECRETS)
    throw conflict(`There are already ${MAX_SECRETS} secrets, the maximum. Delete one first.`)
  await announce(db, 'secrets', project_id)
  return { created_at }
}

export async function remove(db: Database, project_id: string, name: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('secrets')
    .where('project_id', '=', project_id)
    .where('name', '=', name)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw notFound('Secret', name)
  await announce(db, 'secrets', project_id)
}

async function count(db: Database, project_id: string): Promise<number> {
  return countAll(db.selectFrom('secrets').where('project_id', '=', project_id))
}

function fromRow(row: Omit<StoredSecret, 'hosts'> & { hosts: string }): StoredSecret {
  return { ...row, hosts: jsonOf('secret', { ...row, id: row.name })('hosts') }
}
