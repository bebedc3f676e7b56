import { type AliasedExpression, type SelectQueryBuilder, sql } from 'kysely'
import { type Database, engineOf } from '../database.ts'
import type { Tables } from '../tables.ts'
import type { CountedList } from './counted-lists.ts'
import { countParts, type ListParts } from './counts.ts'
import {
  countAll,
  findStretch,
  fromStretch,
  type ListRange,
  listStretches,
  rowsOf,
  type Stretch,
  within,
} from './stretches.ts'

type Select<TB extends keyof Tables, Row> = SelectQueryBuilder<Tables, TB, Row>

export type PageQuery = { limit: number; offset: number; sort: string }

export type Page<T> = {
  items: T[]
  total: number
  /** A search did not look at everything: rows before this time are left, or from it on where the oldest come first. */
  searched_to?: number | undefined
  /** A follower of the list asks next for what comes after this position. `more`: there is something already. */
  next?: { after: string; more: boolean }
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

export function requireSortable(total: number, { sort }: PageQuery, { order }: Pick<CountedList, 'order'>): void {
  if (total > MAX_SORTED) throw new TooLongToSortError(orderOf(sort).column, order)
}

/**
 * One page of a select over `table`, and how many rows match in all. `sort` is a column, with `-` before it for
 * descending order. Nulls come last, as in PostgreSQL's indexes; SQLite must be told so.
 */
export async function page<TB extends keyof Tables, Row>(
  db: Database,
  select: Select<TB, Row>,
  { limit, offset, sort }: PageQuery,
  { tieBreakers = ['id'], total }: PageOptions = {},
): Promise<Page<Row>> {
  const { direction, column } = orderOf(sort)
  let ordered = select.orderBy(db.dynamic.ref(column), (order) =>
    direction === 'asc' ? order.asc().nullsLast() : order.desc().nullsFirst(),
  )
  for (const tieBreaker of tieBreakers) ordered = ordered.orderBy(db.dynamic.ref(tieBreaker), direction)
  const [items, count] = await Promise.all([ordered.limit(limit).offset(offset).execute(), total ?? countAll([select])])
  return { items, total: count }
}

export type ListOptions = {
  range?: ListRange
  /** The select picks fewer rows than the parts have. */
  isFiltered?: boolean
  /** What the select asks for. Otherwise it is every column. */
  columns?: readonly AliasedExpression<unknown, string>[]
}

/** One page of a counted list, and how many rows it has in all; `select` picks rows of its owner. */
export async function pageOfList<TB extends keyof Tables, Row>(
  db: Database,
  select: Select<TB, Row>,
  query: PageQuery,
  wanted: ListParts,
  options: ListOptions = {},
): Promise<Page<Row>> {
  const { list, parts } = wanted
  if (orderOf(query.sort).column === list.order) return pageOfLists(db, [select], query, wanted, options)
  const total = rowsOf(await countRows(db, [select], query, wanted, options))
  requireSortable(total, query, list)
  const inParts = select.where(sql.ref(list.part), 'in', parts)
  return page(db, within(inParts, list, options.range), query, { total: Promise.resolve(total) })
}

/**
 * From here on the stretch of time is looked up in which a page begins, instead of passing over every row before it.
 */
export const FAR = 1_000

/** The same for several owners, whose lists are merged in their own order. Each select picks rows of one of them. */
export async function pageOfLists<TB extends keyof Tables, Row>(
  db: Database,
  selects: readonly Select<TB, Row>[],
  query: PageQuery,
  wanted: ListParts,
  options: ListOptions = {},
): Promise<Page<Row>> {
  const { limit, offset } = query
  const { direction } = orderOf(query.sort)
  const find = (range: ListRange | undefined, passed: number) => {
    const from = selects.map((select) => within(select, wanted.list, range))
    const found = keysOfParts(db, from, wanted, { direction, limit, offset: passed })
    return listFound<Row>(db, found, wanted, direction, options.columns)
  }
  const counted = countRows(db, selects, query, wanted, options)
  if (offset <= FAR) {
    const [items, stretches] = await Promise.all([find(options.range, offset), counted])
    return { items, total: rowsOf(stretches) }
  }
  const stretches = await counted
  const start = findStretch(stretches, offset, direction)
  const items = start ? await find(fromStretch(start.stretch, direction, options.range), start.before) : []
  return { items, total: rowsOf(stretches) }
}

/** How many rows there are. If nobody needs to know when, they are all in one stretch. */
async function countRows<TB extends keyof Tables, Row>(
  db: Database,
  selects: readonly Select<TB, Row>[],
  { offset }: PageQuery,
  wanted: ListParts,
  { range = {}, isFiltered = false }: ListOptions,
): Promise<Stretch[]> {
  const { list, parts } = wanted
  const inParts = selects.map((select) => select.where(sql.ref(list.part), 'in', parts))
  if (isFiltered) return [{ ...range, rows: await countAll(inParts.map((select) => within(select, list, range))) }]
  const isPart = range.from !== undefined || range.to !== undefined
  return isPart || offset > FAR ? listStretches(db, inParts, wanted, range) : [{ rows: await countParts(db, wanted) }]
}

async function listFound<Row>(
  db: Database,
  found: ReturnType<typeof keysOfParts>,
  { list }: ListParts,
  direction: 'asc' | 'desc',
  columns: ListOptions['columns'],
): Promise<Row[]> {
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
 * The times and numbers of some rows of some parts, in order. Each select picks rows of one owner. Each part is read in
 * the order of its index and the parts are merged, so that no more is read than is asked for.
 */
export function keysOfParts<TB extends keyof Tables, Row>(
  db: Database,
  selects: readonly Select<TB, Row>[],
  { list, parts }: Pick<ListParts, 'list' | 'parts'>,
  { direction, limit, offset = 0, number = numberOf(db) }: Slice,
) {
  const each = selects.flatMap((select) => parts.map((part) => ({ select, part })))
  const [first, ...others] = each.map(({ select, part }) => {
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
