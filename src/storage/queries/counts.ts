import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'
import { countAllText } from './count-changes.ts'
import { COUNTED_LISTS, type CountedList } from './counted-lists.ts'

/** The lists of some owners, or the parts of them that have one of these values. */
export type ListParts = {
  list: CountedList
  owners: readonly string[]
  parts: readonly (string | number)[]
  /** Rows that are in one of these lists too are not wanted. */
  without?: { list: CountedList; owners: readonly string[] }
}

/** An owner as `list_counts` has it: the values of the columns that say whose list it is. */
export function ownerOf(...values: readonly (string | number)[]): string {
  return values.join(' ')
}

/** How many rows the parts have. However many they are, few counts are added up. */
export async function countParts(db: Database, wanted: ListParts): Promise<number> {
  const sum = async (some: ListParts) => {
    const { total } = await selectCounts(db, some)
      .select(({ fn }) => fn.sum<number | null>('count').as('total'))
      .executeTakeFirstOrThrow()
    return total ?? 0
  }
  const [all, left] = await Promise.all([sum(wanted), ...partsWithout(wanted).map(sum)])
  return all - (left ?? 0)
}

/** How many rows there are in each quarter since the epoch that has some, `to` not included; the oldest first. */
export async function countQuarters(
  db: Database,
  wanted: ListParts,
  { from, to }: { from: number; to: number },
): Promise<{ quarter: number; rows: number }[]> {
  const count = (some: ListParts) =>
    selectCounts(db, some)
      .select(({ fn }) => ['quarter', fn.sum<number>('count').as('rows')])
      .where('quarter', '>=', from)
      .where('quarter', '<', to)
      .groupBy('quarter')
      .orderBy('quarter')
      .execute()
  const [all, without] = await Promise.all([count(wanted), ...partsWithout(wanted).map(count)])
  const left = new Map(without?.map(({ quarter, rows }) => [quarter, rows]))
  return all.map(({ quarter, rows }) => ({ quarter, rows: rows - (left.get(quarter) ?? 0) }))
}

/** The owners that have rows, and how many they have together. */
export async function countOwners(db: Database, wanted: Omit<ListParts, 'without'>) {
  const counts = await selectCounts(db, wanted)
    .select(({ fn }) => ['owner', fn.sum<number>('count').as('rows')])
    .groupBy('owner')
    .execute()
  const some = counts.filter(({ rows }) => rows > 0)
  return { owners: some.map(({ owner }) => owner), total: some.reduce((sum, { rows }) => sum + rows, 0) }
}

function partsWithout({ parts, without }: ListParts): ListParts[] {
  return without && without.owners.length > 0 ? [{ ...without, parts }] : []
}

function selectCounts(db: Database, { list, owners, parts }: ListParts) {
  return db
    .selectFrom('list_counts')
    .where('list', '=', list.name)
    .where(isOwner(db, owners))
    .where('part', 'in', parts.map(String))
}

/** Several owners are one parameter, because both engines limit the number of parameters. */
function isOwner(db: Database, owners: readonly string[]): RawBuilder<SqlBool> {
  if (owners.length === 1) return sql`owner = ${owners[0]}`
  return engineOf(db) === 'postgres'
    ? sql`owner = any(${owners}::text[])`
    : sql`owner in (select value from json_each(${JSON.stringify(owners)}))`
}

/** Counts everything anew. Belongs into a transaction. */
export async function recount(db: Database): Promise<void> {
  // Other transactions may write rows now. They wait here before they count them, and add to the new counts.
  if (engineOf(db) === 'postgres') await sql`lock table list_counts in share row exclusive mode`.execute(db)
  await db.deleteFrom('list_counts').execute()
  for (const list of COUNTED_LISTS) await sql.raw(countAllText(list)).execute(db)
}
