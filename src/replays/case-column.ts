import { z } from 'zod'
import { type Cost, usdOf } from '../runtime/models/usage.ts'
import { CostUsd } from '../shapes.ts'
import { CaseOutcome } from './replay-record.ts'

const Called = z.object({ name: z.string(), arguments: z.unknown() })

const CheckFinding = z.object({
  type: z.string(),
  passed: z.boolean().nullable().describe("null: the check couldn't be decided"),
  note: z.string().nullable(),
})
export type CheckFinding = z.output<typeof CheckFinding>

const ColumnShape = z.object({
  status: z.enum(['completed', 'failed', 'not_run']),
  passed: z.boolean().nullable().describe('Whether it was answered and all checks passed; null: unknown'),
  response: z.string().nullable(),
  error: z.string().nullable(),
  checks: z.array(CheckFinding),
  tools: z.array(Called).describe('The tool calls, in order'),
  unrecorded_calls: z.array(Called).describe('Calls that were not made, because no result was recorded for them'),
  tokens: z.int(),
  cost_usd: CostUsd,
  duration_ms: z.int(),
})

export const ReplayCase = z
  .object({
    position: z.int(),
    name: z.string().nullable(),
    request_id: z.string().nullable().describe('The invocation that the case is a copy of'),
    erased: z.boolean().describe('Whether its content was erased, with the invocation or the user'),
    message: z.string(),
    outcome: CaseOutcome.nullable().describe('Null until all columns have answered'),
    recorded: ColumnShape.nullable(),
    baseline: ColumnShape.nullable(),
    candidate: ColumnShape.nullable(),
  })
  .meta({ id: 'ReplayCase' })

/** How one side answered a case. */
export type AnswerColumn = Omit<z.output<typeof ColumnShape>, 'cost_usd' | 'tokens' | 'tools'> & {
  calls: readonly z.output<typeof Called>[]
  input_tokens: number
  output_tokens: number
  cost_nano: Cost
}

export const COLUMNS = ['recorded', 'baseline', 'candidate'] as const
export type ColumnName = (typeof COLUMNS)[number]

export type AnswerColumns = { readonly [Name in ColumnName]: AnswerColumn | null }

/** A side that gave no answer, and why. */
export function notRun(error: string): AnswerColumn {
  const nothing = { checks: [], calls: [], unrecorded_calls: [], input_tokens: 0, output_tokens: 0, cost_nano: 0 }
  return { status: 'not_run', passed: null, response: null, error, duration_ms: 0, ...nothing }
}

/** The column that the candidate is compared with, if the case has one. */
export function referenceOf(columns: AnswerColumns, baseline: 'deployed' | 'recorded'): AnswerColumn | null {
  return baseline === 'deployed' ? columns.baseline : columns.recorded
}

export function outcomeOf(columns: AnswerColumns, baseline: 'deployed' | 'recorded'): CaseOutcome {
  const after = columns.candidate?.passed ?? null
  const reference = referenceOf(columns, baseline)
  if (after === null || (reference && reference.passed === null)) return 'unknown'
  const before = reference?.passed ?? after
  if (before === after) return after ? 'passed' : 'failed'
  return after ? 'improved' : 'regressed'
}

export function presentColumn(column: AnswerColumn | null): z.input<typeof ColumnShape> | null {
  if (!column) return null
  const { calls, input_tokens, output_tokens, cost_nano, ...shown } = column
  return { ...shown, tools: [...calls], tokens: input_tokens + output_tokens, cost_usd: usdOf(cost_nano) }
}
