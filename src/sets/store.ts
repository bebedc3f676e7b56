import { notFound } from '../errors.ts'
import type { Database } from '../storage/database.ts'
import { countAll } from '../storage/queries/count-rows.ts'
import { type Page, type PageQuery, page } from '../storage/queries/page.ts'
import type { CaseSet } from './set.ts'

export async function find(db: Database, agent_seq: number, name: string): Promise<CaseSet | undefined> {
  return db
    .selectFrom('sets')
    .selectAll()
    .where('agent_seq', '=', agent_seq)
    .where('name', '=', name)
    .executeTakeFirst()
}

export async function get(db: Database, agent_seq: number, name: string): Promise<CaseSet> {
  const found = await find(db, agent_seq, name)
  if (!found) throw notFound('Set', name)
  return found
}

export async function list(db: Database, agent_seq: number, query: PageQuery): Promise<Page<CaseSet>> {
  return page(db, db.selectFrom('sets').selectAll().where('agent_seq', '=', agent_seq), query)
}

export async function count(db: Database, agent_seq: number): Promise<number> {
  return countAll(db.selectFrom('sets').where('agent_seq', '=', agent_seq))
}

/** Writes the set in place of an earlier one, which keeps its ID. */
export async function put(db: Database, set: CaseSet): Promise<void> {
  const { description, digest, cases, updated_at } = set
  await db
    .insertInto('sets')
    .values(set)
    .onConflict((same) => same.columns(['agent_seq', 'name']).doUpdateSet({ description, digest, cases, updated_at }))
    .execute()
}

export async function remove(db: Database, id: string): Promise<void> {
  await db.deleteFrom('sets').where('id', '=', id).execute()
}
