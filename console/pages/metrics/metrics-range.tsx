import { param, setParams } from '../../lib/location.ts'
import { Button } from '../../ui/button.tsx'
import { Segments } from '../../ui/forms/field.tsx'

const HOUR_MS = 3_600_000
const RANGES: Record<string, number> = {
  '1h': HOUR_MS,
  '6h': 6 * HOUR_MS,
  '24h': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
}
const DEFAULT = '24h'

export type MetricsRange = { start_time: string; end_time?: string }

/** The range in the URL: one that the reader has selected by dragging, or one that ends now. */
export function readRange(): MetricsRange {
  const [from, to] = [param('from'), param('to')]
  if (from && to) return { start_time: from, end_time: to }
  const length = RANGES[param('range') ?? DEFAULT] ?? (RANGES[DEFAULT] as number)
  return { start_time: new Date(Date.now() - length).toISOString() }
}

/** Stays the same until the reader selects another range. */
export function rangeKey(): string {
  return `${param('range') ?? DEFAULT} ${param('from') ?? ''} ${param('to') ?? ''}`
}

export function zoomTo(from: number, to: number): void {
  setParams({ from: new Date(from).toISOString(), to: new Date(to).toISOString() }, { push: true })
}

export function MetricsRangeFilter() {
  const isZoomed = param('from') !== undefined
  return (
    <>
      <Segments
        label="Time"
        value={isZoomed ? '' : (param('range') ?? DEFAULT)}
        choices={Object.keys(RANGES).map((value) => ({ value, label: value }))}
        onChange={(range) => setParams({ range, from: undefined, to: undefined }, { push: true })}
      />
      {isZoomed ? (
        <Button icon="undo" onClick={() => setParams({ from: undefined, to: undefined }, { push: true })}>
          Reset zoom
        </Button>
      ) : (
        <span class="hint">Drag over a chart to zoom in.</span>
      )}
    </>
  )
}
