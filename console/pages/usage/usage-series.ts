import type { UsageRow } from '../../../sdk/client.ts'
import { firstBucket, type Line } from '../../ui/chart/plot.ts'
import type { FoundUsage } from './load-usage.ts'
import { type UsageGroup, valueIn } from './usage-groups.ts'
import { nextOf } from './usage-range.tsx'

/** As many colors as people can tell apart. The last one is for all other groups. */
const COLORS = Array.from({ length: 8 }, (_, i) => `--series-${i + 1}`)
const OTHERS = 'others'

/** The most expensive comes first. Rows without a price are ordered by tokens. */
export function byCost(a: UsageRow, b: UsageRow): number {
  return b.priced_cost_usd - a.priced_cost_usd || b.total_tokens - a.total_tokens
}

export type UsageSeries = { times: number[]; end: number; cost: Line[]; tokens: Line[] }

/** Bars over time, with one color for each of the largest groups. */
export function usageSeries(
  found: FoundUsage,
  group: UsageGroup,
  nameOf: (value: string | null) => string,
): UsageSeries {
  const { groups, times, isSplit, query } = found
  const edges = edgesOf(times.from, times.to, query.granularity)
  const used = new Set(times.rows.map(({ time }) => bucketOf(edges, Date.parse(time ?? times.from) / 1000)))
  // Dates that the reader has selected are drawn as they are.
  const first = query.to === undefined ? firstBucket(edges.length - 1, (i) => used.has(i)) : 0
  const largest = groups.rows.toSorted(byCost).map((row) => valueIn(group, row))
  const own = largest.length <= COLORS.length ? largest : largest.slice(0, COLORS.length - 1)
  const labels = isSplit ? [...own.map(nameOf), ...(own.length < largest.length ? [OTHERS] : [])] : ['all together']
  const lineOf = (row: UsageRow) => {
    const at = own.indexOf(valueIn(group, row))
    return isSplit && at < 0 ? labels.length - 1 : Math.max(at, 0)
  }
  const linesOf = (amount: (row: UsageRow) => number): Line[] => {
    const values = labels.map(() => Array.from({ length: edges.length - 1 }, () => 0))
    for (const row of times.rows) {
      const line = values[isSplit ? lineOf(row) : 0] as number[]
      const bucket = bucketOf(edges, Date.parse(row.time ?? times.from) / 1000)
      line[bucket] = (line[bucket] ?? 0) + amount(row)
    }
    return labels.map((label, i) => ({
      label,
      color: COLORS[label === OTHERS ? COLORS.length - 1 : i] as string,
      values: (values[i] as number[]).slice(first),
      isBars: true,
      total: (values[i] as number[]).reduce((sum, value) => sum + value, 0),
    }))
  }
  return {
    times: edges.slice(first, -1),
    end: edges.at(-1) ?? 0,
    cost: linesOf(({ priced_cost_usd }) => priced_cost_usd),
    tokens: linesOf(({ total_tokens }) => total_tokens),
  }
}

/** When each hour, day or month of the range begins, and when the last one ends, in seconds. */
function edgesOf(from: string, to: string, granularity: 'hour' | 'day' | 'month'): number[] {
  const end = Date.parse(to)
  const edges: number[] = []
  for (let at = Date.parse(from); at < end; at = nextOf(at, granularity)) edges.push(at / 1000)
  return [...edges, end / 1000]
}

function bucketOf(edges: number[], time: number): number {
  return Math.max(
    edges.findLastIndex((edge) => edge <= time),
    0,
  )
}
