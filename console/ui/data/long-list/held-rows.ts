/** A part of a list, as the service gives it: rows from `offset` on, of `total`. */
export type Part<Row> = { offset: number; rows: Row[]; total: number }

/**
 * Rows of a list by their positions in the view. The positions do not change while the list is held: what comes before the rows
 * meanwhile is counted in `fresh` instead, and the row at position `i` is the service's row number `i + fresh`.
 */
export type HeldRows<Row> = { rows: ReadonlyMap<number, Row>; fresh: number; total: number }

/** How many rows are kept; those that are loaded again are among them. */
const MAX_ROWS_HELD = 2_000

/** A part that replaces what was known: the view begins with the service's first row. */
export function begun<Row>({ offset, rows, total }: Part<Row>): HeldRows<Row> {
  return { rows: new Map(rows.map((row, i) => [offset + i, row])), fresh: 0, total }
}

/** Adds a part to a view that is held: rows that are known stay at their positions. */
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

/** The same rows at the positions that they have in the service now. */
export function unheld<Row>({ rows, fresh, total }: HeldRows<Row>): HeldRows<Row> {
  if (fresh === 0) return { rows, fresh, total }
  return { rows: new Map([...rows].map(([position, row]) => [position + fresh, row])), fresh: 0, total: total + fresh }
}

/** How many rows of the service the list had when it was last asked. */
function totalOf({ fresh, total }: HeldRows<unknown>): number {
  return total + fresh
}

/** The first row that is known and also in the part says how far the rows have moved. */
function freshOf<Row>(known: HeldRows<Row>, part: Part<Row>, keyOf: (row: Row) => string): number | undefined {
  const positions = new Map([...known.rows].map(([position, row]) => [keyOf(row), position]))
  for (const [i, row] of part.rows.entries()) {
    const position = positions.get(keyOf(row))
    if (position !== undefined) return part.offset + i - position
  }
  return undefined
}
