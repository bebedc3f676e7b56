import { z } from 'zod'
import { Version } from '../deployments/deployment.ts'
import { AnswerChecks } from '../invocations/cases/answer-check.ts'
import { LastRuns, RunFilter } from '../invocations/cases/choose-runs.ts'
import { usdOf } from '../runtime/models/usage.ts'
import { SetName } from '../sets/set.ts'
import { bareShape, CostUsd, KeyName, Time } from '../shapes.ts'
import type { RowWith, Tables } from '../storage/tables.ts'

const MOST_USD = 9_000_000
const MOST_TOKENS = 1_000_000_000_000_000

/** running → completed | cancelled. */
export const ReplayStatus = z.enum(['running', 'completed', 'cancelled'])

export const ReplayVerdict = z
  .enum(['passed', 'regression', 'inconclusive'])
  .describe(
    '`passed`: no worse than the baseline. `regression`: worse, and hardly by chance. `inconclusive`: the cases prove neither',
  )
export type ReplayVerdict = z.output<typeof ReplayVerdict>

/** How a case changed from the baseline to the candidate. */
export const CaseOutcome = z
  .enum(['regressed', 'improved', 'passed', 'failed', 'unknown'])
  .describe(
    '`regressed`: only the candidate failed. `improved`: only the baseline failed. `unknown`: one of them has no result that can be compared',
  )
export type CaseOutcome = z.output<typeof CaseOutcome>

const ReplayLimits = z.strictObject({
  cost_usd: z
    .number()
    .min(0.000001)
    .max(MOST_USD)
    .nullable()
    .default(null)
    .describe(
      'What the model calls can cost in total, in US dollars. Requires a price for every model. null: no limit',
    ),
  tokens: z
    .int()
    .min(1)
    .max(MOST_TOKENS)
    .nullable()
    .default(null)
    .describe('Input plus output tokens in total. null: no limit'),
})

export const CreateReplayBody = z
  .strictObject({
    version: Version.optional().describe('The version to test'),
    working_copy: z.literal(true).optional().describe('Test the draft instead of a version'),
    set: SetName.optional().describe('The set whose cases are sent'),
    filter: RunFilter.optional().describe('Past invocations to send instead of a set'),
    last: LastRuns.optional().describe('With `filter`: how many invocations, most recent first. Default: 100'),
    baseline: z
      .enum(['deployed', 'recorded'])
      .default('deployed')
      .describe(
        '`deployed`: the version that `production` serves gets the same messages. `recorded`: the answers that the invocations gave. If nothing is deployed, `recorded` is used',
      ),
    checks: AnswerChecks.default([]).describe("Checks for every case, in addition to the case's own"),
    limits: ReplayLimits.prefault({}).describe(
      'How much the replay can spend. A call that could exceed the limit is not made',
    ),
  })
  .refine(({ version, working_copy }) => (version === undefined) !== (working_copy === undefined), {
    error: 'specify either `version` or `working_copy`',
  })
  .refine(({ set, filter }) => (set === undefined) !== (filter === undefined), 'specify either `set` or `filter`')
  .refine(({ last, filter }) => last === undefined || filter !== undefined, {
    path: ['last'],
    error: 'is only allowed with `filter`',
  })
  .meta({ id: 'CreateReplay' })

export const ReplayParams = z.strictObject({ agent_id: z.string(), replay_id: z.string() })

const Interval = z
  .object({ value: z.number(), low: z.number(), high: z.number() })
  .nullable()
  .describe('With its 95 % confidence interval. Null if there was nothing to compute it from')

const ColumnSum = z.object({
  passed: z.int(),
  failed: z.int(),
  unknown: z.int().describe('Cases without a result that can be compared'),
  pass_rate: Interval.describe('The share of passed cases with its Wilson interval'),
  tokens: z.int(),
  cost_usd: CostUsd,
})

const ReportShape = z.object({
  reason: z.string().describe('The verdict in words'),
  erased_cases: z.int().describe('Cases whose content was erased. They count nowhere else'),
  columns: z.object({
    recorded: ColumnSum.nullable().describe('The answers of the invocations that the cases are copies of'),
    baseline: ColumnSum.nullable().describe("The deployed version's answers; null if the baseline is `recorded`"),
    candidate: ColumnSum,
  }),
  comparison: z
    .object({
      pairs: z.int().describe('Cases with a result on both sides'),
      regressed: z.int(),
      improved: z.int(),
      p_value: z.number().describe("McNemar's exact test, two-sided"),
      pass_rate: Interval.describe('The change of the pass rate, from a paired bootstrap'),
      tokens: Interval.describe('The change of the tokens of one answer'),
      cost_usd: Interval.describe('The change of the cost of one answer'),
    })
    .nullable()
    .describe('The candidate compared with the baseline; null if no case has a baseline'),
  unrecorded_calls: z
    .array(z.object({ name: z.string(), cases: z.int() }))
    .describe('Tools that the candidate called in a way that was never recorded, and in how many cases'),
  worst: z
    .array(z.object({ slice: z.string(), cases: z.int(), regressed: z.int(), improved: z.int() }))
    .describe('Groups of cases that got worse, worst first'),
})
export type ReplayReport = z.output<typeof ReportShape>

const Durations = z.object({
  recorded: z.number().nullable(),
  baseline: z.number().nullable(),
  candidate: z.number().nullable(),
})
export type Durations = z.output<typeof Durations>

export const ReplayReply = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    status: ReplayStatus,
    version: z.string().nullable().describe('The tested version; null: the draft'),
    digest: z.string().describe('Of the tested definition'),
    set: z.object({ name: z.string(), digest: z.string() }).nullable(),
    filter: z.object(bareShape(RunFilter.shape)).nullable(),
    baseline: z.enum(['deployed', 'recorded']),
    baseline_version: z.string().nullable(),
    baseline_digest: z.string().nullable(),
    checks: AnswerChecks,
    limits: z.object({ cost_usd: z.number().nullable(), tokens: z.int().nullable() }),
    spent: z.object({ cost_usd: CostUsd, tokens: z.int() }),
    case_count: z.int(),
    finished_cases: z.int(),
    waits_for: z.string().nullable().describe("Why cases can't be sent now, for example because of a budget"),
    reached_limit: z.enum(['cost_usd', 'tokens']).nullable().describe('The limit that ended it early'),
    verdict: ReplayVerdict.nullable().describe('Null while it is running, and if it was cancelled'),
    report: ReportShape.nullable(),
    durations_ms: Durations.nullable().describe('The median time of an answer'),
    created_by: z.string(),
    created_by_name: KeyName,
    created_at: Time,
    finished_at: Time.nullable(),
  })
  .meta({ id: 'Replay' })

type ReplayRow = RowWith<
  Tables['replays'],
  {
    status: z.output<typeof ReplayStatus>
    filter: z.output<typeof RunFilter> | null
    checks: z.output<typeof AnswerChecks>
    baseline: 'deployed' | 'recorded'
    reached: 'cost_usd' | 'tokens' | null
    report: (ReplayReport & { durations_ms: Durations }) | null
    verdict: ReplayVerdict | null
  }
>

/** A replay without the definitions, which only its worker needs. */
export type Replay = Omit<ReplayRow, 'definition' | 'baseline_definition'>

export function presentReplay(replay: Replay & { finished_cases: number }, agent_id: string) {
  const { id, status, version, digest, set_name, set_digest, filter, baseline, checks, finished_cases } = replay
  const { baseline_version, baseline_digest, waits_for, reached: reached_limit, verdict, unpriced } = replay
  const { report: stored, created_by, created_at, finished_at, cases: case_count } = replay
  const { durations_ms = null, ...report } = stored ?? {}
  return {
    id,
    agent_id,
    status,
    version,
    digest,
    set: set_name === null ? null : { name: set_name, digest: set_digest ?? '' },
    filter,
    baseline,
    baseline_version,
    baseline_digest,
    checks,
    limits: { cost_usd: usdOf(replay.limit_nano), tokens: replay.limit_tokens },
    spent: { cost_usd: unpriced > 0 ? null : usdOf(replay.spent_nano), tokens: replay.spent_tokens },
    case_count,
    finished_cases,
    waits_for: status === 'running' ? waits_for : null,
    reached_limit,
    verdict,
    report: stored ? (report as ReplayReport) : null,
    durations_ms,
    created_by,
    created_at,
    finished_at,
  }
}
