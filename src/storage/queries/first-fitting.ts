/** A reply is written as a whole. A hundred of the largest log entries have fewer characters. */
const MOST_CHARACTERS = 4 * 1024 * 1024

/** The first of the rows, as many as one page can contain without delaying other requests, and at least one. */
export function firstFitting<Row>(
  rows: readonly Row[],
  sizeOf: (row: Row) => number,
  most = MOST_CHARACTERS,
): readonly Row[] {
  let size = 0
  const end = rows.findIndex((row, i) => {
    size += sizeOf(row)
    return i > 0 && size > most
  })
  return end < 0 ? rows : rows.slice(0, end)
}
