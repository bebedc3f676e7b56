/** `v1.4.0` is followed by `v1.4.1`: the last number of the newest label goes up by one. */
export function nextLabel(known: string[]): string {
  const newest = known.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1)
  if (!newest) return 'v1'
  return /\d/.test(newest) ? newest.replace(/(\d+)(?!.*\d)/, (digits) => String(Number(digits) + 1)) : `${newest}-2`
}
