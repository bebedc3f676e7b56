import { conflict, notFound } from '../errors.ts'
import { jsonOf } from '../storage/damaged-rows.ts'
import { announce, type Database } from '../storage/database.ts'
import type { StoredProvider } from './provider.ts'

/** The most providers a project may have: all of them are opened together when a run first needs one. */
const MAX_PROVIDERS = 100

export async function listAll(db: Database, project_id: string): Promise<StoredProvider[]> {
  const select = db.selectFrom('providers').selectAll().where('project_id', '=', project_id)
  const rows = await select.orderBy('name').execute()
  return rows.map((row) => {
    const vision = jsonOf('provider', { ...row, id: row.name })<StoredProvider['vision']>('vision')
    return { ...row, vision, type: row.type as StoredProvider['type'] }
  })
}

/** Inserts the provider, or replaces the one of the same name. Returns when that name was first set. */
export async function put(db: Database, provider: Omit<StoredProvider, 'created_at'>): Promise<{ created_at: number }> {
  const { project_id, name, type, base_url, api_key, updated_at } = provider
  const vision = provider.vision === null ? null : JSON.stringify(provider.vision)
  const { created_at } = await db
    .insertInto('providers')
    .values({ project_id, name, type, base_url, api_key, vision, created_at: updated_at, updated_at })
    .onConflict((known) =>
      known.columns(['project_id', 'name']).doUpdateSet({ type, base_url, api_key, vision, updated_at }),
    )
    .returning('created_at')
    .executeTakeFirstOrThrow()
  const { total } = await db
    .selectFrom('providers')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('project_id', '=', project_id)
    .executeTakeFirstOrThrow()
  if (Number(total) > MAX_PROVIDERS) throw conflict(`There are ${MAX_PROVIDERS} providers already: delete one first`)
  await announce(db, 'providers', project_id)
  return { created_at }
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
