import { useMemo } from 'preact/hooks'
import { param, setParams } from '../../lib/location.ts'
import { Segments } from './field.tsx'

const RANGES: Record<string, number> = { '15m': 15 * 60_000, '1h': 3_600_000, '24h': 86_400_000, '7d': 7 * 86_400_000 }

/** How far back the page looks. The choice is in the URL. */
export function RangeFilter() {
  return (
    <Segments
      label="Time"
      value={param('range') ?? ''}
      choices={[...Object.keys(RANGES).map((value) => ({ value, label: value })), { value: '', label: 'all' }]}
      onChange={(range) => setParams({ range, offset: undefined }, { push: true })}
    />
  )
}

/** When the selected range begins, counted back from the moment of the choice. */
export function useRangeStart(): string | undefined {
  const length = RANGES[param('range') ?? '']
  return useMemo(() => (length ? new Date(Date.now() - length).toISOString() : undefined), [length])
}
