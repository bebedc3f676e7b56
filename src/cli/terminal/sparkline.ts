const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/**
 * A row of bars from zero to the highest value. If there are more values than `width`, several share a bar, which shows
 * the highest of them.
 */
export function sparkline(values: readonly number[], width: number): string {
  const columns = Math.min(width, values.length)
  const shown = Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * values.length) / columns)
    const to = Math.floor(((column + 1) * values.length) / columns)
    return Math.max(...values.slice(from, to))
  })
  const highest = Math.max(...shown)
  const barOf = (value: number) =>
    BARS[highest > 0 ? Math.round((Math.max(0, value) / highest) * (BARS.length - 1)) : 0]
  return shown.map(barOf).join('')
}
