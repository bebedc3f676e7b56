/**
 * The most characters in a page, because a reply is written as a whole. A hundred of the largest log entries are
 * smaller.
 */
const MOST_CHARACTERS = 4 * 1024 * 1024

/** The first of the rows: at least one, and as many as one page can contain without delaying other requests. */
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
