import { type AliasedExpression, type SelectQueryBuilder, sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'
import type { Tables } from '../tables.ts'
import { type CountedList, QUARTER_MS } from './counted-lists.ts'
import { countParts, countQuarters, findPlace, type ListParts } from './counts.ts'

export type PageQuery = { limit: number; offset: number; sort: string }

export type Page<T> = {
  items: T[]
  total: number
  /** A search did not look at everything: rows before this time are left, or from it on where the oldest come first. */
  searched_to?: number | undefined
  /** Whoever follows the list asks next for what comes after this position. `more`: there is something already. */
  next?: { after: number; more: boolean }
}

type PageOptions = {
  /**
   * Columns that decide between equal values, in the direction of the sort, so that pages neither repeat nor skip rows.
   */
  tieBreakers?: readonly string[]
  /** How many rows match, if that is known without counting them. */
  total?: Promise<number> | undefined
}

/** So many rows are sorted for one page at most, where no index has them in order. */
export const MAX_SORTED = 10_000

/** A list is too long to be sorted by a field that no index serves. */
export class TooLongToSortError extends Error {
  readonly field: string
  /** The field that it is in order of. */
  readonly order: string

  constructor(field: string, order: string) {
    super(`more than ${MAX_SORTED} rows would have to be sorted by ${field}`)
    this.field = field
    this.order = order
  }
}

/**
 * One page of a select over `table`, and how many rows match in all. `sort` is a column, with `-` before it for
 * descending order. Nulls come last, as in PostgreSQL's indexes; SQLite must be told so.
 */
export async function page<TB extends keyof Tables, Row>(
  db: Database,
  select: SelectQueryBuilder<Tables, TB, Row>,
  { limit, offset, sort }: PageQuery,
  { tieBreakers = ['id'], total }: PageOptions = {},
): Promise<Page<Row>> {
  const { direction, column } = orderOf(sort)
  let ordered = select.orderBy(db.dynamic.ref(column), (order) =>
    direction === 'asc' ? order.asc().nullsLast() : order.desc().nullsFirst(),
  )
  for (const tieBreaker of tieBreakers) ordered = ordered.orderBy(db.dynamic.ref(tieBreaker), direction)
  const [items, count] = await Promise.all([ordered.limit(limit).offset(offset).execute(), total ?? countAll(select)])
  return { items, total: count }
}

/** From `from` on and before `to`, in the list's own times. */
type Range = { from?: number | undefined; to?: number | undefined }

type ListOptions = {
  range?: Range
  /** The select picks fewer than all rows of the owner. */
  isFiltered?: boolean
  /** How many there are, where that is known more cheaply than by counting them. */
  total?: Promise<number> | undefined
  /** What the select asks for. Otherwise it is every column. */
  columns?: readonly AliasedExpression<unknown, string>[]
}

/** One page of a counted list, and how many rows it has in all; `select` picks rows of its owner. */
export async function pageOfList<TB extends keyof Tables, Row>(
  db: Database,
  select: SelectQueryBuilder<Tables, TB, Row>,
  query: PageQuery,
  wanted: ListParts,
  { range = {}, isFiltered = false, columns, ...known }: ListOptions = {},
): Promise<Page<Row>> {
  const { list, parts } = wanted
  const { column } = orderOf(query.sort)
  const inParts = select.where(sql.ref(list.part), 'in', parts)
  const isPart = range.from !== undefined || range.to !== undefined
  const count = () => {
    if (isFiltered || (isPart && !list.byTime)) return countAll(within(inParts, list, range))
    return isPart ? countInRange(db, inParts, wanted, range) : countParts(db, wanted)
  }
  const total = known.total ?? count()
  if (column !== list.order) {
    if ((await total) > MAX_SORTED) throw new TooLongToSortError(column, list.order)
    return page(db, within(inParts, list, range), query, { total })
  }
  const canJump = list.byTime === true && !isFiltered && !isPart
  const rows = listPage(db, within(select, list, range), query, wanted, { canJump, columns })
  const [items, all] = await Promise.all([rows, total])
  return { items, total: all }
}

export function within<TB extends keyof Tables, Row>(
  select: SelectQueryBuilder<Tables, TB, Row>,
  { order }: CountedList,
  { from, to }: Range,
): SelectQueryBuilder<Tables, TB, Row> {
  let ranged = select
  if (from !== undefined) ranged = ranged.where(sql.ref(order), '>=', from)
  if (to !== undefined) ranged = ranged.where(sql.ref(order), '<', to)
  return ranged
}

/** Whole quarters of a day are counted already. What lies in a part of one, at either end, is counted now. */
async function countInRange<TB extends keyof Tables, Row>(
  db: Database,
  select: SelectQueryBuilder<Tables, TB, Row>,
  wanted: ListParts,
  { from, to }: Range,
): Promise<number> {
  const first = Math.ceil((from ?? 0) / QUARTER_MS)
  const last = Math.floor((to ?? Number.MAX_SAFE_INTEGER) / QUARTER_MS)
  const count = (range: Range) => countAll(within(select, wanted.list, range))
  if (first >= last) return count({ from, to })
  const counts = await Promise.all([
    countQuarters(db, wanted, first, last),
    from === undefined ? 0 : count({ from, to: first * QUARTER_MS }),
    to === undefined ? 0 : count({ from: last * QUARTER_MS, to }),
  ])
  return counts.reduce((sum, some) => sum + some, 0)
}

/**
 * From here on the quarter of a day is looked up in which a page begins, instead of passing over every row before it.
 */
const FAR = 1_000

async function listPage<TB extends keyof Tables, Row>(
  db: Database,
  select: SelectQueryBuilder<Tables, TB, Row>,
  { limit, offset, sort }: PageQuery,
  wanted: ListParts,
  { canJump, columns }: { canJump: boolean; columns: ListOptions['columns'] },
): Promise<Row[]> {
  const { list } = wanted
  const { direction } = orderOf(sort)
  let [from, passed] = [select, offset]
  if (canJump && offset > FAR) {
    const place = await findPlace(db, wanted, offset, direction)
    if (!place) return []
    passed = place.before
    const { quarter } = place
    from = within(
      select,
      list,
      direction === 'desc' ? { to: (quarter + 1) * QUARTER_MS } : { from: quarter * QUARTER_MS },
    )
  }
  const found = keysOfParts(db, from, wanted, { direction, limit, offset: passed })
  const table = sql.table(list.table)
  const shown = columns ? sql.join(columns) : sql`${table}.*`
  const { rows } = await sql<Row>`
    select ${shown} from ${found} as found cross join ${table} where ${table}.${sql.ref(numberOf(db))} = found.number
    order by found.time ${sql.raw(direction)}, found.number ${sql.raw(direction)}`.execute(db)
  return rows
}

/**
 * The column that decides between rows of the same millisecond, and leads to the row. SQLite's own number of a row is
 * in every index.
 */
function numberOf(db: Database): 'rowid' | 'id' {
  return engineOf(db) === 'sqlite' ? 'rowid' : 'id'
}

type Slice = { direction: 'asc' | 'desc'; limit: number; offset?: number; number?: 'rowid' | 'id' }

/**
 * The times and numbers of some rows of some parts, in order. Each part is read in the order of its index and the parts
 * are merged, so that no more is read than is asked for.
 */
export function keysOfParts<TB extends keyof Tables, Row>(
  db: Database,
  select: SelectQueryBuilder<Tables, TB, Row>,
  { list, parts }: Omit<ListParts, 'owner'>,
  { direction, limit, offset = 0, number = numberOf(db) }: Slice,
) {
  const [first, ...others] = parts.map((part) => {
    const keys = select
      .clearSelect()
      .select([sql.ref<number>(list.order).as('time'), sql.ref<string | number>(number).as('number')])
      .where(sql.ref(list.part), '=', part)
    // SQLite reads a part only as far as the merge needs. PostgreSQL would sort all of it, so it is given a limit.
    const needed = keys
      .orderBy(sql.ref('time'), direction)
      .orderBy(sql.ref('number'), direction)
      .limit(limit + offset)
    return db.selectFrom((engineOf(db) === 'sqlite' ? keys : needed).as('part')).select(['time', 'number'])
  })
  if (!first) throw new Error(`no part of ${list.name} is wanted`)
  return others
    .reduce((merged, other) => merged.unionAll(other), first)
    .orderBy('time', direction)
    .orderBy('number', direction)
    .limit(limit)
    .offset(offset)
}

export function orderOf(sort: string): { column: string; direction: 'asc' | 'desc' } {
  return { column: sort.replace(/^-/, ''), direction: sort.startsWith('-') ? 'desc' : 'asc' }
}

async function countAll<TB extends keyof Tables, Row>(select: SelectQueryBuilder<Tables, TB, Row>): Promise<number> {
  const { total } = await select
    .clearSelect()
    .select((count) => count.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}
