import { type Selectable, sql } from 'kysely'
import { conflict, notFound } from '../errors.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { announce, type Database } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import type { Tables } from '../storage/tables.ts'
import type { StoredProvider } from './provider.ts'

/** The most providers a project may have: all of them are opened together when a run first needs one. */
const MAX_PROVIDERS = 100

export async function listAll(db: Database, project_id: string): Promise<StoredProvider[]> {
  const select = db.selectFrom('providers').selectAll().where('project_id', '=', project_id)
  return readable(db, await select.orderBy('name').execute(), fromRow)
}

type ProviderKey = Pick<StoredProvider, 'project_id' | 'name'>

export async function find(db: Database, { project_id, name }: ProviderKey): Promise<StoredProvider | undefined> {
  const select = db.selectFrom('providers').selectAll().where('project_id', '=', project_id)
  const row = await select.where('name', '=', name).executeTakeFirst()
  return row && fromRow(row)
}

type ProviderRow = Omit<StoredProvider, 'created_at'>

/** Inserts the provider, or replaces the one of the same name. */
export async function put(db: Database, provider: ProviderRow): Promise<StoredProvider> {
  const row = rowOf(provider)
  const { project_id: _project, name: _name, created_at: _created, ...changes } = row
  const stored = await db
    .insertInto('providers')
    .values(row)
    .onConflict((known) => known.columns(['project_id', 'name']).doUpdateSet(changes))
    .returningAll()
    .executeTakeFirstOrThrow()
  return added(db, fromRow(stored))
}

/** The same, but keeps the stored key and its owner, if the provider hasn't been replaced in the meantime. */
export async function putKeepingKey(
  db: Database,
  provider: Omit<ProviderRow, 'api_key'>,
  known: StoredProvider | undefined,
): Promise<StoredProvider> {
  const row = rowOf({ ...provider, api_key: null })
  const { type, base_url, vision, cache, updated_at } = row
  const paid_by = sql<string>`case when providers.api_key is null then ${row.paid_by} else providers.paid_by end`
  const stored = await db
    .insertInto('providers')
    .values(row)
    .onConflict((there) => {
      const update = there
        .columns(['project_id', 'name'])
        .doUpdateSet({ type, base_url, vision, cache, paid_by, updated_at })
      return known
        ? update
            .where('providers.type', '=', known.type)
            .where('providers.base_url', 'is not distinct from', known.base_url)
        : update.where('providers.api_key', 'is', null)
    })
    .returningAll()
    .executeTakeFirst()
  if (!stored) throw conflict(`Provider "${row.name}" was changed by another request. Try again.`)
  return added(db, fromRow(stored))
}

async function added(db: Database, provider: StoredProvider): Promise<StoredProvider> {
  const { project_id } = provider
  const total = await countAll(db.selectFrom('providers').where('project_id', '=', project_id))
  if (total > MAX_PROVIDERS)
    throw conflict(`There are already ${MAX_PROVIDERS} providers, the maximum. Delete one first.`)
  await announce(db, 'providers', project_id)
  return provider
}

export async function remove(db: Database, project_id: string, name: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('providers')
    .where('project_id', '=', project_id)
    .where('name', '=', name)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw notFound('Provider', name)
  await announce(db, 'providers', project_id)
}

function fromRow(row: Selectable<Tables['providers']>): StoredProvider {
  const vision = jsonOf('provider', { ...row, id: row.name })<StoredProvider['vision']>('vision')
  const paid_by = row.paid_by as StoredProvider['paid_by']
  return { ...row, vision, cache: row.cache === 1, type: row.type as StoredProvider['type'], paid_by }
}

function rowOf({ vision, cache, updated_at, ...named }: ProviderRow) {
  const text = vision === null ? null : JSON.stringify(vision)
  return { ...named, vision: text, cache: cache ? 1 : 0, created_at: updated_at, updated_at }
}
