import type { CaseContent } from '../../invocations/cases/run-case.ts'
import {
  type Bounded,
  bootstrapMean,
  mcNemar,
  median,
  type SlicedPair,
  wilson,
  worstSlices,
} from '../../lib/statistics/paired-statistics.ts'
import { counted } from '../../lib/text/counted.ts'
import { type Cost, usdOf } from '../../runtime/models/usage.ts'
import {
  type AnswerColumn,
  type AnswerColumns,
  COLUMNS,
  type ColumnName,
  outcomeOf,
  referenceOf,
} from '../case-column.ts'
import type { CaseOutcome, Durations, ReplayReport, ReplayVerdict } from '../replay-record.ts'

/** If chance would produce a difference this large less often than this, the candidate is worse. */
const SIGNIFICANT = 0.05
/** If a larger share of the cases can't be compared, the others don't represent all of them. */
const MOST_UNKNOWN = 0.1
const MOST_SLICES = 10
const LONG_MESSAGE = 1_000

export type ReportedCase = AnswerColumns & { content: CaseContent | undefined }

type Baseline = 'deployed' | 'recorded'

/** The result of a replay. It depends only on the answers, so equal answers have equal reports. */
export function reportOf(
  cases: readonly ReportedCase[],
  baseline: Baseline,
): { verdict: ReplayVerdict; report: ReplayReport; durations_ms: Durations } {
  const present = cases.filter(({ content }) => content)
  const pairs = present.map((one) => ({ one, outcome: outcomeOf(one, baseline), before: referenceOf(one, baseline) }))
  const comparison = pairs.some(({ before }) => before) ? compare(pairs) : null
  const { verdict, reason } = judged(pairs, comparison)
  const sumOf = (name: ColumnName) => {
    const columns = cases.flatMap((one) => one[name] ?? [])
    // If a limit ends the replay early, the cases that weren't sent have no columns. Not every case was recorded.
    return sumColumn(columns, name === 'recorded' ? columns.length : present.length)
  }
  const candidate = sumOf('candidate') ?? emptySum()
  return {
    verdict,
    report: {
      reason,
      erased_cases: cases.length - present.length,
      columns: { recorded: sumOf('recorded'), baseline: sumOf('baseline'), candidate },
      comparison,
      unrecorded_calls: unrecordedCalls(cases),
      worst: worstSlices(pairs.flatMap(slicedPair), MOST_SLICES).map(({ slice, pairs: of, worse, better }) => ({
        slice,
        cases: of,
        regressed: worse,
        improved: better,
      })),
    },
    durations_ms: Object.fromEntries(
      COLUMNS.map((name) => [name, median(cases.flatMap((one) => durationOf(one[name]))) ?? null]),
    ) as Durations,
  }
}

type Pair = { one: ReportedCase; outcome: CaseOutcome; before: AnswerColumn | null }

type Comparison = NonNullable<ReplayReport['comparison']>

function compare(pairs: readonly Pair[]): Comparison {
  const known = pairs.filter(({ outcome }) => outcome !== 'unknown')
  const regressed = countOf(known, 'regressed')
  const improved = countOf(known, 'improved')
  const changes = known.map(({ outcome }) => Number(outcome === 'improved') - Number(outcome === 'regressed'))
  const both = known.flatMap(({ one: { candidate }, before }) => (candidate && before ? [{ candidate, before }] : []))
  const costs = both.map(({ candidate, before }) => changeOf(before.cost_nano, candidate.cost_nano))
  const priced = costs.filter((cost) => cost !== null)
  return {
    pairs: known.length,
    regressed,
    improved,
    p_value: rounded(mcNemar(regressed, improved)),
    pass_rate: shown(bootstrapMean(changes)),
    tokens: shown(bootstrapMean(both.map(({ candidate, before }) => tokensOf(candidate) - tokensOf(before)))),
    cost_usd: priced.length === costs.length ? shown(bootstrapMean(priced.map((nano) => usdOf(nano) ?? 0))) : null,
  }
}

function judged(pairs: readonly Pair[], comparison: Comparison | null): { verdict: ReplayVerdict; reason: string } {
  const total = pairs.length
  const unknown = countOf(pairs, 'unknown')
  const cases = counted(total, 'case')
  if (total === 0) return { verdict: 'inconclusive', reason: 'All cases were erased.' }
  if (!comparison) {
    const failed = countOf(pairs, 'failed')
    if (failed > 0)
      return { verdict: 'inconclusive', reason: `${failed} of ${cases} failed, and there is no baseline.` }
    if (unknown > total * MOST_UNKNOWN) return { verdict: 'inconclusive', reason: unknownReason(unknown, cases) }
    return { verdict: 'passed', reason: `${total - unknown} of ${cases} passed. There is no baseline.` }
  }
  const { regressed, improved, p_value } = comparison
  const changed = `${regressed} of ${cases} got worse and ${improved} better`
  if (regressed > improved && p_value <= SIGNIFICANT) {
    return { verdict: 'regression', reason: `${changed}. Chance rarely produces such a difference (p = ${p_value}).` }
  }
  if (unknown > total * MOST_UNKNOWN) return { verdict: 'inconclusive', reason: unknownReason(unknown, cases) }
  if (regressed > improved) {
    return { verdict: 'inconclusive', reason: `${changed}. That may be chance (p = ${p_value}).` }
  }
  return { verdict: 'passed', reason: `${changed}.` }
}

function unknownReason(unknown: number, cases: string): string {
  return `${unknown} of ${cases} have no result that can be compared.`
}

function countOf(pairs: readonly Pair[], wanted: CaseOutcome): number {
  return pairs.filter(({ outcome }) => outcome === wanted).length
}

function sumColumn(columns: readonly AnswerColumn[], total: number): ReplayReport['columns']['candidate'] | null {
  if (columns.length === 0) return null
  const passed = columns.filter((column) => column.passed === true).length
  const failed = columns.filter((column) => column.passed === false).length
  const costs = columns.map(({ cost_nano }) => cost_nano)
  const cost = costs.reduce<Cost>((sum, one) => (sum === null || one === null ? null : sum + one), 0)
  return {
    passed,
    failed,
    unknown: total - passed - failed,
    pass_rate: shown(wilson(passed, passed + failed)),
    tokens: columns.reduce((sum, column) => sum + tokensOf(column), 0),
    cost_usd: usdOf(cost),
  }
}

function emptySum(): ReplayReport['columns']['candidate'] {
  return { passed: 0, failed: 0, unknown: 0, pass_rate: null, tokens: 0, cost_usd: 0 }
}

function unrecordedCalls(cases: readonly ReportedCase[]): ReplayReport['unrecorded_calls'] {
  const found = new Map<string, number>()
  for (const { candidate } of cases) {
    for (const name of new Set(candidate?.unrecorded_calls.map((call) => call.name))) {
      found.set(name, (found.get(name) ?? 0) + 1)
    }
  }
  return [...found]
    .map(([name, count]) => ({ name, cases: count }))
    .toSorted((a, b) => b.cases - a.cases || (a.name < b.name ? -1 : 1))
}

const CHANGES = { regressed: 'worse', improved: 'better', passed: 'same', failed: 'same' } as const

/** The groups that a case belongs to. They have no words of users in them. */
function slicedPair({ one, outcome }: Pair): SlicedPair[] {
  const { content, recorded, baseline, candidate } = one
  if (outcome === 'unknown' || !content) return []
  const calls = [recorded, baseline, candidate].flatMap((column) => column?.calls ?? [])
  const slices = [
    ...calls.map(({ name }) => `tool ${name}`),
    ...content.checks.map(({ type }) => `check ${type}`),
    ...(candidate?.checks ?? []).map(({ type }) => `check ${type}`),
    ...(content.recorded ? [`channel ${content.recorded.door}`] : []),
    ...(content.attachments.length > 0 ? ['attachments'] : []),
    content.history.length > 0 ? 'later messages of a session' : 'first messages',
    ...(content.message.length > LONG_MESSAGE ? ['long messages'] : []),
  ]
  return [{ slices, change: CHANGES[outcome] }]
}

function tokensOf({ input_tokens, output_tokens }: AnswerColumn): number {
  return input_tokens + output_tokens
}

function changeOf(before: Cost, after: Cost): number | null {
  return before === null || after === null ? null : after - before
}

function durationOf(column: AnswerColumn | null): number[] {
  return column && column.status !== 'not_run' ? [column.duration_ms] : []
}

function shown(estimate: Bounded | undefined): Bounded | null {
  if (!estimate) return null
  return { value: rounded(estimate.value), low: rounded(estimate.low), high: rounded(estimate.high) }
}

const DIGITS = 6

/** Six significant digits. Without the sum, zero could be -0. */
function rounded(value: number): number {
  return Number(value.toPrecision(DIGITS)) + 0
}
