import { sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'
import { countAllText } from './count-changes.ts'
import { COUNTED_LISTS, type CountedList } from './counted-lists.ts'

/** Somebody's list, or the parts of it that have one of these values. */
export type ListParts = { list: CountedList; owner: readonly (string | number)[]; parts: readonly (string | number)[] }

/** How many rows the parts have. However many they are, few counts are added up. */
export async function countParts(db: Database, wanted: ListParts): Promise<number> {
  return sumOf(selectCounts(db, wanted))
}

/** How many of them lie in whole quarters since the epoch, `to` not included. */
export async function countQuarters(db: Database, wanted: ListParts, from: number, to: number): Promise<number> {
  return sumOf(selectCounts(db, wanted).where('quarter', '>=', from).where('quarter', '<', to))
}

/** The quarter in which a row lies, and how many rows of it come before that row. */
export type RowPlace = { quarter: number; before: number }

/** Where the row lies that has `offset` others before it; undefined when there are not that many. */
export async function findPlace(
  db: Database,
  wanted: ListParts,
  offset: number,
  direction: 'asc' | 'desc',
): Promise<RowPlace | undefined> {
  const quarters = await selectCounts(db, wanted)
    .select(({ fn }) => ['quarter', fn.sum<number>('count').as('rows')])
    .groupBy('quarter')
    .orderBy('quarter', direction)
    .execute()
  let passed = 0
  for (const { quarter, rows } of quarters) {
    if (passed + rows > offset) return { quarter, before: offset - passed }
    passed += rows
  }
  return undefined
}

/** How many rows each of these owners has in the parts. Owners without one are left out. */
export async function countOwners(
  db: Database,
  { list, parts }: Omit<ListParts, 'owner'>,
  owners: readonly string[],
): Promise<Map<string, number>> {
  // The owners are one parameter, because both engines limit the number of parameters.
  const named =
    engineOf(db) === 'postgres'
      ? sql<string>`(select unnest(${owners}::text[]))`
      : sql<string>`(select value from json_each(${JSON.stringify(owners)}))`
  const rows = await db
    .selectFrom('list_counts')
    .select(({ fn }) => ['owner', fn.sum<number>('count').as('total')])
    .where('list', '=', list.name)
    .where('owner', 'in', named)
    .where('part', 'in', parts.map(String))
    .groupBy('owner')
    .execute()
  return new Map(rows.filter(({ total }) => total > 0).map(({ owner, total }) => [owner, total]))
}

function selectCounts(db: Database, { list, owner, parts }: ListParts) {
  return db
    .selectFrom('list_counts')
    .where('list', '=', list.name)
    .where('owner', '=', owner.join(' '))
    .where('part', 'in', parts.map(String))
}

async function sumOf(select: ReturnType<typeof selectCounts>): Promise<number> {
  const { total } = await select
    .select(({ fn }) => fn.sum<number | null>('count').as('total'))
    .executeTakeFirstOrThrow()
  return total ?? 0
}

/** Counts everything anew. Belongs into a transaction. */
export async function recount(db: Database): Promise<void> {
  // Other transactions may write rows now. They wait here before they count them, and add to the new counts.
  if (engineOf(db) === 'postgres') await sql`lock table list_counts in share row exclusive mode`.execute(db)
  await db.deleteFrom('list_counts').execute()
  for (const list of COUNTED_LISTS) await sql.raw(countAllText(list)).execute(db)
}
