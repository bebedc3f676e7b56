/** `v1.4.0` is followed by `v1.4.1`: the last number of the newest label is increased until the label is free. */
export function nextLabel(newestFirst: string[]): string {
  const known = new Set(newestFirst)
  let label = newestFirst[0] ?? 'v0'
  do {
    label = /\d/.test(label) ? label.replace(/(\d+)(?!.*\d)/, (digits) => String(Number(digits) + 1)) : `${label}-2`
  } while (known.has(label))
  return label
}
