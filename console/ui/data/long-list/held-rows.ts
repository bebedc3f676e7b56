/** A part of a list as the service returns it: rows from `offset` on, out of `total`. */
export type Part<Row> = { offset: number; rows: Row[]; total: number }

/**
 * The rows of a list, by their positions in the view. While the list is held, positions don't change: rows that are
 * added before the others are counted in `fresh` instead, and the row at position `i` is the service's row number `i +
 * fresh`.
 */
export type HeldRows<Row> = { rows: ReadonlyMap<number, Row>; fresh: number; total: number }

/** How many rows are kept, including those that are loaded again. */
const MAX_ROWS_HELD = 2_000

/** A view with only this part. It starts with the service's first row. */
export function begun<Row>({ offset, rows, total }: Part<Row>): HeldRows<Row> {
  return { rows: new Map(rows.map((row, i) => [offset + i, row])), fresh: 0, total }
}

/** Adds a part to a held view. Known rows keep their positions. */
export function held<Row>(
  known: HeldRows<Row>,
  part: Part<Row>,
  { keyOf, growsAtTop }: { keyOf(row: Row): string; growsAtTop: boolean },
): HeldRows<Row> {
  const fresh = Math.max(0, freshOf(known, part, keyOf) ?? known.fresh + (growsAtTop ? part.total - totalOf(known) : 0))
  const rows = new Map(known.rows.size > MAX_ROWS_HELD ? [] : known.rows)
  for (const [i, row] of part.rows.entries()) rows.set(part.offset + i - fresh, row)
  return { rows, fresh, total: part.total - fresh }
}

/** The same rows at their current positions in the service. */
export function unheld<Row>({ rows, fresh, total }: HeldRows<Row>): HeldRows<Row> {
  if (fresh === 0) return { rows, fresh, total }
  return { rows: new Map([...rows].map(([position, row]) => [position + fresh, row])), fresh: 0, total: total + fresh }
}

/** How many rows the service's list had when it was last requested. */
function totalOf({ fresh, total }: HeldRows<unknown>): number {
  return total + fresh
}

/** The first known row that is also in the part shows how far the rows have moved. */
function freshOf<Row>(known: HeldRows<Row>, part: Part<Row>, keyOf: (row: Row) => string): number | undefined {
  const positions = new Map([...known.rows].map(([position, row]) => [keyOf(row), position]))
  for (const [i, row] of part.rows.entries()) {
    const position = positions.get(keyOf(row))
    if (position !== undefined) return part.offset + i - position
  }
  return undefined
}
