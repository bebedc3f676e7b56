import { type SelectQueryBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Tables } from '../tables.ts'
import { type CountedList, QUARTER_MS } from './counted-lists.ts'
import { countQuarters, type ListParts } from './counts.ts'

/** From `from` on and before `to`, in the list's own times. */
export type ListRange = { from?: number | undefined; to?: number | undefined }

/** A time in which a list has so many rows: a quarter of a day, what a range has of one, or all time. */
export type Stretch = ListRange & { rows: number }

export function within<TB extends keyof Tables, Row>(
  select: SelectQueryBuilder<Tables, TB, Row>,
  { order }: CountedList,
  { from, to }: ListRange = {},
): SelectQueryBuilder<Tables, TB, Row> {
  let ranged = select
  if (from !== undefined) ranged = ranged.where(sql.ref(order), '>=', from)
  if (to !== undefined) ranged = ranged.where(sql.ref(order), '<', to)
  return ranged
}

/**
 * The stretches of a range that have rows, the oldest first. Whole quarters of a day are counted already. What lies in a
 * part of one, at either end, is counted now; the selects pick it.
 */
export async function listStretches<TB extends keyof Tables, Row>(
  db: Database,
  selects: readonly SelectQueryBuilder<Tables, TB, Row>[],
  wanted: ListParts,
  { from, to }: ListRange = {},
): Promise<Stretch[]> {
  const first = Math.ceil((from ?? 0) / QUARTER_MS)
  const last = Math.floor((to ?? Number.MAX_SAFE_INTEGER) / QUARTER_MS)
  const count = async (range: ListRange) => {
    const rows = await countAll(selects.map((select) => within(select, wanted.list, range)))
    return [{ ...range, rows }]
  }
  if (first >= last) return count({ from, to })
  const [start, quarters, end] = await Promise.all([
    from === undefined ? [] : count({ from, to: first * QUARTER_MS }),
    countQuarters(db, wanted, { from: first, to: last }),
    to === undefined ? [] : count({ from: last * QUARTER_MS, to }),
  ])
  const whole = quarters.map(({ quarter, rows }) => {
    return { from: quarter * QUARTER_MS, to: (quarter + 1) * QUARTER_MS, rows }
  })
  return [...start, ...whole, ...end]
}

export function rowsOf(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, { rows }) => sum + rows, 0)
}

/** Where the row lies that has `offset` others before it, and how many of these are in the same stretch. */
export function findStretch(
  stretches: readonly Stretch[],
  offset: number,
  direction: 'asc' | 'desc',
): { stretch: Stretch; before: number } | undefined {
  let before = offset
  for (const stretch of direction === 'asc' ? stretches : stretches.toReversed()) {
    if (before < stretch.rows) return { stretch, before }
    before -= stretch.rows
  }
  return undefined
}

/** The rest of a range, from the beginning of a stretch on. */
export function fromStretch({ from, to }: Stretch, direction: 'asc' | 'desc', range: ListRange = {}): ListRange {
  return direction === 'asc' ? { ...range, from } : { ...range, to }
}

/** How many rows the selects pick together. */
export async function countAll<TB extends keyof Tables, Row>(
  selects: readonly SelectQueryBuilder<Tables, TB, Row>[],
): Promise<number> {
  const counts = await Promise.all(
    selects.map((select) =>
      select
        .clearSelect()
        .select((count) => count.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow(),
    ),
  )
  return counts.reduce((sum, { total }) => sum + total, 0)
}
