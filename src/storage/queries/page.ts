import type { SelectQueryBuilder } from 'kysely'
import type { Database } from '../database.ts'
import type { Tables } from '../tables.ts'

export type PageQuery = { limit: number; offset: number; sort: string }

export type Page<T> = { items: T[]; total: number }

type PageOptions = {
  /** They break ties in the direction of the sort, so that pages neither repeat nor skip. */
  tieBreakers?: readonly string[]
  /** How many match, where that is known more cheaply than by counting them. */
  total?: Promise<number> | undefined
}

/**
 * One page of a select over `table`, with the count of all that match. `sort` is a column, `-` before it for
 * descending. What is absent counts as last of all, as PostgreSQL's indexes have it; SQLite must be told.
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
