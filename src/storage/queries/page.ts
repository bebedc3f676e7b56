import { type SelectQueryBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Tables } from '../tables.ts'
import { countAll } from './count-rows.ts'

type Select<TB extends keyof Tables, Row> = SelectQueryBuilder<Tables, TB, Row>

export type PageQuery = { limit: number; offset: number; sort: string }

export type Page<T> = {
  items: T[]
  total: number
  /**
   * Set if a search didn't read everything. Rows before this time weren't read, or rows from this time on if the oldest
   * come first.
   */
  searched_to?: number | undefined
  /**
   * The position after which a client that follows the list continues. `more` is true if there already is something.
   */
  next?: { after: string; more: boolean }
}

type PageOptions = {
  /**
   * Columns that order rows with equal values, in the direction of the sort, so that pages neither repeat nor skip
   * rows.
   */
  tieBreakers?: readonly string[]
  /** How many rows match, if that is known without counting them. */
  total?: Promise<number> | undefined
}

/** If no index has the rows in the requested order, a page is sorted only if there are at most this many rows. */
export const MAX_SORTED = 10_000

/** A list is too long to be sorted by a field without an index. */
export class TooLongToSortError extends Error {
  readonly field: string
  /** The field by which the list should be sorted. */
  readonly order: string

  constructor(field: string, order: string) {
    super(`more than ${MAX_SORTED} rows would have to be sorted by ${field}`)
    this.field = field
    this.order = order
  }
}

/**
 * One page of a select from `table`, and how many rows match in total. `sort` is a column, with `-` before it for
 * descending order. Nulls come last, as in PostgreSQL's indexes. For SQLite, the query has to say so.
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
  const [items, count] = await Promise.all([ordered.limit(limit).offset(offset).execute(), total ?? countAll(select)])
  return { items, total: count }
}

type LongList = {
  /** The time column by which the list is sorted. */
  order: 'created_at' | 'timestamp'
  /** The columns of an index with that order. IDs begin with the time, so for most lists that is only the ID. */
  by?: readonly string[]
  total?: Promise<number>
}

/** The same rows, split into parts that each have an index with this order, so that no other rows are read. */
type Parts<TB extends keyof Tables, Row> = { parts?: readonly Select<TB, Row>[] | undefined }

/**
 * One page of a list that can have millions of rows. The IDs of the page are found in an index alone, so rows before
 * the page are skipped without being read.
 */
export async function longPage<TB extends keyof Tables, Row>(
  db: Database,
  select: Select<TB, Row>,
  query: PageQuery,
  { order, by = ['id'], total = countAll(select), parts }: LongList & Parts<TB, Row>,
): Promise<Page<Row>> {
  const { column, direction } = orderOf(query.sort)
  if (column !== order && column !== 'id') {
    if ((await total) > MAX_SORTED) throw new TooLongToSortError(column, order)
    return page(db, select, query, { total })
  }
  const inOrder = <R>(rows: Select<TB, R>) =>
    by.reduce((ordered, name) => ordered.orderBy(sql.ref(name), direction), rows)
  const idsOf = (some: Select<TB, Row>) => inOrder(some.clearSelect().select(sql<string>`id`.as('id')))
  // The first rows of the whole are among the first rows of each part.
  const firstOf = (part: Select<TB, Row>) => sql`select id from ${idsOf(part).limit(query.offset + query.limit)} part`
  const candidates = parts
    ? inOrder(
        db
          .selectFrom(sql<{ id: string }>`(${sql.join(parts.map(firstOf), sql` union all `)})`.as('first'))
          .select('id') as never,
      )
    : idsOf(select)
  const ids = candidates.limit(query.limit).offset(query.offset)
  const rows = inOrder(select.clearWhere().where(sql.ref('id'), 'in', ids))
  const [items, count] = await Promise.all([rows.execute(), total])
  return { items, total: count }
}

export function orderOf(sort: string): { column: string; direction: 'asc' | 'desc' } {
  return { column: sort.replace(/^-/, ''), direction: sort.startsWith('-') ? 'desc' : 'asc' }
}
