import type { Config } from '../../config.ts'
import { conflict, notFound } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import { jsonOf, readable } from '../../storage/damaged-rows.ts'
import { announce, type Database } from '../../storage/database.ts'
import { countAll } from '../../storage/queries/count-rows.ts'

/** A price as the configuration and the API express it. */
export type GivenPrice = Config['prices'][number]

/** A project's price, and who set it. */
type OwnPrice = GivenPrice & { set_by: Actor['reach'] }

/** The most prices of a project: all of them are read together when a run first needs one. */
const MAX_PRICES = 1_000

/** The prices that were set through the API. */
export async function listOwn(db: Database, project_id: string): Promise<OwnPrice[]> {
  const rows = await db
    .selectFrom('prices')
    .select(['model', 'rates', 'set_by'])
    .where('project_id', '=', project_id)
    .orderBy('model')
    .execute()
  return readable(db, rows, (row) => ({
    ...jsonOf('price', { ...row, id: row.model })<Omit<GivenPrice, 'model'>>('rates'),
    model: row.model,
    set_by: row.set_by as OwnPrice['set_by'],
  }))
}

/** Inserts the price, or replaces the one of the same model. */
export async function put(
  db: Database,
  project_id: string,
  { model, set_by, ...given }: OwnPrice,
  updated_at: number,
): Promise<void> {
  const rates = JSON.stringify(given)
  await db
    .insertInto('prices')
    .values({ project_id, model, rates, set_by, created_at: updated_at, updated_at })
    .onConflict((known) => known.columns(['project_id', 'model']).doUpdateSet({ rates, set_by, updated_at }))
    .execute()
  const total = await countAll(db.selectFrom('prices').where('project_id', '=', project_id))
  if (total > MAX_PRICES) throw conflict(`There are already ${MAX_PRICES} prices, the maximum. Delete one first.`)
  await announce(db, 'prices', project_id)
}

export async function remove(db: Database, project_id: string, model: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('prices')
    .where('project_id', '=', project_id)
    .where('model', '=', model)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw notFound('Price', model)
  await announce(db, 'prices', project_id)
}
