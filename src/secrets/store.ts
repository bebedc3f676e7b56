import { conflict, notFound } from '../errors.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { announce, type Database } from '../storage/database.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import type { StoredSecret } from './secret.ts'

/** The most secrets there may be: all of them are opened together when a tool first needs one. */
const MAX_SECRETS = 500

export async function list(db: Database, query: PageQuery): Promise<Page<StoredSecret>> {
  const { items, total } = await page(db, db.selectFrom('secrets').selectAll(), query, { tieBreakers: ['name'] })
  return { items: readable(db, items, fromRow), total }
}

export async function listAll(db: Database): Promise<StoredSecret[]> {
  return readable(db, await db.selectFrom('secrets').selectAll().orderBy('name').execute(), fromRow)
}

/** Inserts the secret, or replaces the one of the same name. Returns when that name was first set. */
export async function put(db: Database, secret: Omit<StoredSecret, 'created_at'>): Promise<{ created_at: number }> {
  const { name, value, updated_at } = secret
  const hosts = JSON.stringify(secret.hosts)
  const { created_at } = await db
    .insertInto('secrets')
    .values({ name, value, hosts, created_at: updated_at, updated_at })
    .onConflict((known) => known.column('name').doUpdateSet({ value, hosts, updated_at }))
    .returning('created_at')
    .executeTakeFirstOrThrow()
  if ((await count(db)) > MAX_SECRETS) throw conflict(`There are ${MAX_SECRETS} secrets already: delete one first`)
  await announce(db, 'secrets', name)
  return { created_at }
}

export async function remove(db: Database, name: string): Promise<void> {
  const { numDeletedRows } = await db.deleteFrom('secrets').where('name', '=', name).executeTakeFirst()
  if (numDeletedRows === 0n) throw notFound('Secret', name)
  await announce(db, 'secrets', name)
}

async function count(db: Database): Promise<number> {
  const { total } = await db
    .selectFrom('secrets')
    .select((secrets) => secrets.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}

function fromRow(row: Omit<StoredSecret, 'hosts'> & { hosts: string }): StoredSecret {
  return { ...row, hosts: jsonOf('secret', { ...row, id: row.name })('hosts') }
}
