import type { SelectQueryBuilder } from 'kysely'
import type { Database } from './database.ts'
import type { Tables } from './tables.ts'

export type PageQuery = { limit: number; offset: number; sort: string }

export type Page<T> = { items: T[]; total: number }

/**
 * One page of a select over `table`, with the count of all that match. `sort` is a column, `-` before it for
 * descending; `tieBreaker` breaks ties in the same direction, so pages neither repeat nor skip. What is absent counts as last of
 * all, as PostgreSQL's indexes have it; SQLite must be told.
 */
export async function page<TB extends keyof Tables, Row>(
  db: Database,
  select: SelectQueryBuilder<Tables, TB, Row>,
  { limit, offset, sort }: PageQuery,
  tieBreaker = 'id',
): Promise<Page<Row>> {
  const direction = sort.startsWith('-') ? 'desc' : 'asc'
  const column = sort.replace(/^-/, '')
  const [items, counted] = await Promise.all([
    select
      .orderBy(db.dynamic.ref(column), (order) =>
        direction === 'asc' ? order.asc().nullsLast() : order.desc().nullsFirst(),
      )
      .orderBy(db.dynamic.ref(tieBreaker), direction)
      .limit(limit)
      .offset(offset)
      .execute(),
    select
      .clearSelect()
      .select((count) => count.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow(),
  ])
  return { items, total: counted.total }
}
