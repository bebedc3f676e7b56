import type { SelectQueryBuilder } from 'kysely'
import type { Database } from '../database.ts'
import type { Tables } from '../tables.ts'

export type PageQuery = { limit: number; offset: number; sort: string }

export type Page<T> = { items: T[]; total: number }

type PageOptions = {
  /**
   * Columns that decide between equal values, in the direction of the sort, so that pages neither repeat nor skip rows.
   */
  tieBreakers?: readonly string[]
  /** How many rows match, if that is known without counting them. */
  total?: Promise<number> | undefined
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
  const direction = sort.startsWith('-') ? 'desc' : 'asc'
  const column = sort.replace(/^-/, '')
  let ordered = select.orderBy(db.dynamic.ref(column), (order) =>
    direction === 'asc' ? order.asc().nullsLast() : order.desc().nullsFirst(),
  )
  for (const tieBreaker of tieBreakers) ordered = ordered.orderBy(db.dynamic.ref(tieBreaker), direction)
  const [items, count] = await Promise.all([ordered.limit(limit).offset(offset).execute(), total ?? countAll(select)])
  return { items, total: count }
}

async function countAll<TB extends keyof Tables, Row>(select: SelectQueryBuilder<Tables, TB, Row>): Promise<number> {
  const { total } = await select
    .clearSelect()
    .select((count) => count.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return total
}
