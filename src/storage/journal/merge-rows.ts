import type { Value } from './rows.ts'

/** The positions of the columns that are the key, of those that are added up, and of those that keep the larger value. */
export type MergedColumns = { key: readonly number[]; add: readonly number[]; max: readonly number[] }

/**
 * Makes one row per key, in the order of the keys. Of the other columns the first row's values are kept. The rows are
 * sorted and each is compared with the one before: a map would need a text for every key, which costs more.
 */
export function mergeRows(rows: readonly Value[][], { key, add, max }: MergedColumns): Value[][] {
  const merged: Value[][] = []
  let sum: Value[] | undefined
  for (const row of rows.toSorted((a, b) => compareAt(key, a, b))) {
    if (!sum || compareAt(key, sum, row) !== 0) {
      sum = [...row]
      merged.push(sum)
      continue
    }
    for (const position of add) sum[position] = Number(sum[position]) + Number(row[position])
    for (const position of max) sum[position] = Math.max(Number(sum[position]), Number(row[position]))
  }
  return merged
}

/** A column of a key has values of one type, texts or numbers, and no nulls. */
function compareAt(positions: readonly number[], a: readonly Value[], b: readonly Value[]): number {
  for (const position of positions) {
    const [x, y] = [a[position] as string, b[position] as string]
    if (x !== y) return x < y ? -1 : 1
  }
  return 0
}
