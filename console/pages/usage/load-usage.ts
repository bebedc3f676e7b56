import type { Usage, UsageRow } from '../../../sdk/client.ts'
import { service } from '../../lib/service.ts'
import { isOfService, type UsageGroup, usageFilters } from './usage-groups.ts'
import { readUsageRange } from './usage-range.tsx'

/** The service returns at most this many rows at once. */
const MOST_ROWS = 5_000

export type UsageQuery = NonNullable<Parameters<typeof service.usage.get>[0]> & {
  granularity: 'hour' | 'day' | 'month'
}

export type FoundUsage = {
  /** One row per group. */
  groups: Usage
  /** The same over time, also split by group unless that would be too many rows. */
  times: Usage
  isSplit: boolean
  /** The query for the times. */
  query: UsageQuery
  /** The models with calls that have no price. */
  unpriced: UsageRow[]
}

/** The page's query, from the URL. */
export function usageQuery({ by }: UsageGroup): UsageQuery {
  const filters = Object.fromEntries(usageFilters().map(([, column, value]) => [column, value]))
  return { ...readUsageRange(), group_by: by, ...(isOfService() && { scope: 'service' }), ...filters }
}

export async function loadUsage(query: UsageQuery, signal: AbortSignal): Promise<FoundUsage> {
  const { granularity, ...once } = query
  const groups = await service.usage.get(once, { signal })
  const isSplit = groups.rows.length * periodsIn(groups, granularity) <= MOST_ROWS
  const asked = isSplit ? query : { ...query, group_by: '' }
  const times = await service.usage.get(asked, { signal })
  return { groups, times, isSplit, query: asked, unpriced: await unpricedModels(groups, once, signal) }
}

const HOURS = { hour: 1, day: 24, month: 28 * 24 }

function periodsIn({ from, to }: Usage, granularity: UsageQuery['granularity']): number {
  return Math.ceil((Date.parse(to) - Date.parse(from)) / (HOURS[granularity] * 3_600_000)) + 1
}

async function unpricedModels(
  { totals, rows }: Usage,
  query: Omit<UsageQuery, 'granularity'>,
  signal: AbortSignal,
): Promise<UsageRow[]> {
  if (totals.unpriced_calls === 0) return []
  const byModel =
    query.group_by === 'model' ? rows : (await service.usage.get({ ...query, group_by: 'model' }, { signal })).rows
  return byModel.filter(({ unpriced_calls }) => unpriced_calls > 0)
}
