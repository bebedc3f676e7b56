import type { z } from 'zod'
import * as agents from '../agents/store.ts'
import { invalid, notFound } from '../errors.ts'
import { writableTime } from '../lib/time.ts'
import type { Actor } from '../operation/actor.ts'
import { requireScope, requireService } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { usdOf } from '../runtime/models/usage.ts'
import type { Database } from '../storage/database.ts'
import { HOUR_MS, type Period, TimeZone } from './periods.ts'
import { listUsage, MOST_ROWS, type UsageSums } from './sums.ts'
import { GROUPS, UsageFilter, UsageQuery, UsageReply } from './usage-reply.ts'

const DEFAULT_RANGE_MS = 30 * 24 * HOUR_MS
/** Four months of hours. */
const MOST_PERIODS = 3_000

export const getUsage = operation({
  id: 'getUsage',
  method: 'GET',
  path: '/v1/usage',
  summary: 'Get usage and costs',
  description:
    'Sums up every call of a model or an embedder: in runs, including failed, retried and cancelled ones, in summaries, facts and memory, and in provider tests. With `Accept: text/csv`, returns the rows as CSV. A request that would return more than 5,000 rows is refused.',
  access: { permission: 'read' },
  input: { query: UsageQuery },
  answer: { data: UsageReply, csv: 'rows', errors: ['not_found'] },

  async run({ query }, { db, actor, now, shownAgents }) {
    if (query.scope === 'service') {
      requireScope(actor, null)
      requireService(actor)
    }
    const periods = periodsOf(query, now())
    const shown = await shownAgents()
    const groups = query.group_by.map((name) => GROUPS[name])
    const agent_id = await agentNamed(db, query, actor)
    const wanted = Object.entries({ ...query, agent_id })
    const filter = wanted.filter(([name, value]) => name in UsageFilter && value !== undefined)
    const found = await listUsage(db, {
      periods,
      groups,
      filter: Object.fromEntries(filter) as Record<string, string>,
      shown: query.scope === 'service' ? undefined : shown,
    })
    if (found.length > MOST_ROWS) {
      throw invalid({
        field: 'group_by',
        error: `would return more than ${MOST_ROWS} rows; group by fewer fields or choose a shorter range`,
      })
    }
    const hasTime = query.granularity !== undefined
    return {
      from: writableTime(periods[0]?.start ?? 0),
      to: writableTime(periods.at(-1)?.end ?? 0),
      timezone: query.timezone,
      totals: present(found.reduce<UsageSums>(added, NOTHING)),
      rows: found.map(({ start, ...row }) => ({
        ...(hasTime && { time: start }),
        ...Object.fromEntries(groups.map((column) => [column, row[column] || null])),
        ...present(row),
      })) as UsageReply['rows'],
    }
  },
})

type UsageRequest = z.output<typeof UsageQuery>

/** The ID of the requested agent. A deleted agent is only found by its ID. */
async function agentNamed(db: Database, { agent_id, scope }: UsageRequest, actor: Actor): Promise<string | undefined> {
  if (agent_id === undefined || AGENT_ID.test(agent_id)) return agent_id
  if (scope === 'service') {
    throw invalid({
      field: 'agent_id',
      error: 'must be an agent ID, because several projects can have an agent with this name',
    })
  }
  const agent = await agents.findIn(db, actor.scope.project_id, agent_id)
  requireScope(actor, agent?.id ?? null)
  if (!agent) throw notFound('Agent', agent_id)
  return agent.id
}

const AGENT_ID = /^agt_/

function periodsOf({ to: wantedTo, from: wantedFrom, granularity, timezone }: UsageRequest, now: number): Period[] {
  const to = wantedTo ?? now
  const from = wantedFrom ?? to - DEFAULT_RANGE_MS
  if (from >= to) throw invalid({ field: 'from', error: 'must be before `to`' })
  const zone = zoneOf(timezone)
  if (!granularity) {
    return [{ start: Math.floor(from / HOUR_MS) * HOUR_MS, end: Math.ceil(to / HOUR_MS) * HOUR_MS }]
  }
  const periods = zone.periodsIn({ start: from, end: to }, granularity, MOST_PERIODS)
  if (periods.length <= MOST_PERIODS) return periods
  throw invalid({
    field: 'granularity',
    error: `the range contains more than ${MOST_PERIODS} of them; choose a shorter range or a larger granularity`,
  })
}

function zoneOf(name: string): TimeZone {
  try {
    return new TimeZone(name)
  } catch {
    throw invalid({ field: 'timezone', error: 'must be an IANA time zone name such as Europe/Berlin' })
  }
}

const NOTHING: UsageSums = {
  calls: 0,
  input_tokens: 0,
  cached_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  cost_nano: 0,
  unpriced: 0,
  lost: 0,
}

function added(sums: UsageSums, more: UsageSums): UsageSums {
  return {
    calls: sums.calls + more.calls,
    input_tokens: sums.input_tokens + more.input_tokens,
    cached_tokens: sums.cached_tokens + more.cached_tokens,
    cache_write_tokens: sums.cache_write_tokens + more.cache_write_tokens,
    output_tokens: sums.output_tokens + more.output_tokens,
    reasoning_tokens: sums.reasoning_tokens + more.reasoning_tokens,
    cost_nano: sums.cost_nano + more.cost_nano,
    unpriced: sums.unpriced + more.unpriced,
    lost: sums.lost + more.lost,
  }
}

function present(sums: UsageSums) {
  const { calls, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens } = sums
  const { cost_nano, unpriced, lost } = sums
  return {
    calls,
    input_tokens,
    cached_tokens,
    cache_write_tokens,
    output_tokens,
    reasoning_tokens,
    total_tokens: input_tokens + output_tokens,
    cost_usd: unpriced > 0 ? null : usdOf(cost_nano),
    priced_cost_usd: usdOf(cost_nano) ?? 0,
    unpriced_calls: unpriced,
    lost_calls: lost,
  }
}
