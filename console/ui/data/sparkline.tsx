const WIDTH = 96
const HEIGHT = 22
const GAP = 1

/** A few numbers as bars. Screen readers read `label`. */
export function Sparkline({ values, label }: { values: number[]; label: string }) {
  const most = Math.max(...values, 1)
  const step = WIDTH / values.length
  const bars = values.map((value, i) => {
    // Even a single request among thousands is visible.
    const height = value === 0 ? 1 : Math.max(3, (HEIGHT * value) / most)
    return `M${(i * step).toFixed(1)} ${(HEIGHT - height).toFixed(1)}h${(step - GAP).toFixed(1)}V${HEIGHT}h-${(step - GAP).toFixed(1)}z`
  })
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <path d={bars.join('')} />
    </svg>
  )
}
