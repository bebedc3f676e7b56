import { z } from 'zod'
import type { Ruling } from '../../runtime/approvals/ask.ts'
import { type Position, Transcript } from '../../runtime/following/transcript.ts'
import { type Cost, type TokenCount, usdOf } from '../../runtime/models/usage.ts'
import type { ToolResult } from '../../runtime/outcome.ts'
import type { Omissions } from '../../runtime/prompt/fit-prompt.ts'
import type { PassedOver, RecalledNames, Step, Unfit } from '../../runtime/steps.ts'
import { milestonesOfParts, type ShownCall } from '../../runtime/told-steps.ts'
import { CostUsd, KeyName, Time } from '../../shapes.ts'
import { NamedFile } from '../attachments/attachment-shape.ts'
import { ChildShape } from '../children/child-shape.ts'

export const TokenUsage = z.object({
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
  cached_tokens: z
    .int()
    .optional()
    .describe("Input tokens read from the provider's cache, if the provider reports them"),
  cache_write_tokens: z
    .int()
    .optional()
    .describe("Input tokens written to the provider's cache, if the provider reports them"),
  reasoning_tokens: z
    .int()
    .optional()
    .describe('Reasoning tokens, included in the output, if the provider reports them'),
})

const ShownTimes = z.object({
  attempt: z.int().describe('The attempt of the run that this step belongs to'),
  started_at: Time.nullable(),
  finished_at: Time.nullable(),
  duration_ms: z.int(),
})

export const LeftOutShape = z.object({
  turns: z.int().describe('The oldest turns of the session, left out'),
  memories: z.int(),
  shortened: z.int().describe('Turns that were shortened to their beginning'),
})

const UnfitShape = z.object({
  answer: z.string().describe('Its beginning'),
  problems: z.array(z.object({ field: z.string().describe('JSON pointer'), error: z.string() })),
  asked: z
    .boolean()
    .describe('Whether the model was asked for JSON; otherwise it answered in plain text, after calling tools'),
})

export type UnfitReceipt = z.output<typeof UnfitShape>

/** A step as the receipt shows it. */
export const ReceiptStepShape = z
  .discriminatedUnion('kind', [
    ShownTimes.extend({
      kind: z.literal('recall'),
      turns: z.int().describe('How many turns of the session were found'),
      memories: z.int().describe('How many memories were recalled'),
      summary: z.boolean().describe('Whether the session had a summary'),
    }),
    ShownTimes.extend({
      kind: z.literal('model'),
      model: z.string().describe('The model that answered'),
      passed_over: z
        .array(z.object({ model: z.string(), error: z.string() }))
        .optional()
        .describe("The models that were tried before this one, and why they didn't answer"),
      usage: TokenUsage,
      cost_usd: CostUsd,
      characters: z.int().describe('How many characters of the response came from this step'),
      finish: z.enum(['length', 'filtered']).optional().describe('Why the model stopped early'),
      unfit: UnfitShape.optional().describe(
        "Present if the answer doesn't match the output schema. The answer is then not part of the response",
      ),
      left_out: LeftOutShape.optional().describe('What was left out because the prompt was too long'),
    }),
    ShownTimes.extend({
      kind: z.literal('tool'),
      id: z.string(),
      name: z.string(),
      arguments: z.unknown(),
      result: z.string().optional(),
      files: z.array(NamedFile).readonly().optional().describe('What the tool returned in addition to text'),
      error: z.string().optional(),
      child: ChildShape.optional().describe('The run that the call started, if the tool is an agent'),
      usage: TokenUsage.optional().describe('Tokens used by the models that were called for it'),
      cost_usd: CostUsd.optional().describe('What these models cost'),
    }),
    ShownTimes.extend({
      kind: z.literal('wait'),
      reason: z.string(),
      usage: TokenUsage.optional().describe(
        'Tokens of an answer that a pause or a stop of the service interrupted; the model was called again',
      ),
      cost_usd: CostUsd.optional().describe('The cost of that answer'),
    }),
    ShownTimes.extend({
      kind: z.literal('approval'),
      call_id: z.string(),
      name: z.string(),
      decision: z.enum(['approved', 'rejected', 'expired']),
      by: z.string().nullable().describe('Who decided'),
      by_name: KeyName,
      arguments: z.unknown().optional().describe('The changed arguments that the tool was called with'),
      note: z.string().optional(),
      answer: z.string().optional(),
    }),
  ])
  .meta({ id: 'InvocationStep' })

type Times = { attempt: number; started_at: number | null; finished_at: number | null; duration_ms: number }

type ModelReceipt = Times & {
  kind: 'model'
  model: string
  passed_over?: PassedOver[]
  usage: z.output<typeof TokenUsage>
  cost_nano: Cost
  characters: number
  finish?: 'length' | 'filtered'
  unfit?: UnfitReceipt
  left_out?: Omissions
}

/** The receipt contains the memories' seqs, and clients see how many there were. */
export type RecallReceipt = Times & { kind: 'recall' } & RecalledNames

/** `index` is the position of the call in the answer that requested it. */
type ToolReceipt = Times &
  SpentReceipt & { kind: 'tool'; index: number; id: string; name: string; arguments: unknown } & ToolResult

/** Present if models were called. */
type SpentReceipt = { usage?: z.output<typeof TokenUsage>; cost_nano?: Cost }

/** Steps in the order in which they ended, as a receipt stores them. */
export type ReceiptStep = RecallReceipt | ModelReceipt | ToolReceipt | ApprovalReceipt | WaitReceipt

type WaitReceipt = Times & SpentReceipt & { kind: 'wait'; reason: string }

type ApprovalReceipt = Times & { kind: 'approval'; name: string } & Omit<Ruling, 'kind' | 'tool'>

export function receiptSteps(steps: readonly Step[]): ReceiptStep[] {
  return steps.map((step, position): ReceiptStep => {
    const { attempt, started_at } = step
    // A wait can end before its scheduled time.
    const finished_at = Math.min(
      step.finished_at,
      (step.kind === 'wait' && steps[position + 1]?.started_at) || Infinity,
    )
    const times = { attempt, started_at, finished_at, duration_ms: Math.max(0, finished_at - started_at) }
    if (step.kind === 'model') {
      const { finish } = step.answer
      const early = finish === 'stop' ? {} : { finish }
      const { text, model, passed_over, cost_nano, left_out, unfit } = step
      const misfit = unfit && { unfit: shownUnfit(unfit) }
      const passed = passed_over && { passed_over }
      const cut = left_out && { left_out }
      const counted = { usage: totalOf(step.usage), cost_nano, characters: text.length }
      return { kind: 'model', ...times, model, ...passed, ...counted, ...early, ...misfit, ...cut }
    }
    if (step.kind === 'recall') {
      const { turns, memories, summarized_at } = step
      return { kind: 'recall', ...times, turns, memories, summarized_at }
    }
    if (step.kind === 'wait') {
      const { reason, cost_nano } = step
      const usage = totalOf(step.usage)
      return { kind: 'wait', ...times, reason, ...(usage.total_tokens > 0 && { usage, cost_nano }) }
    }
    if (step.kind === 'approval') {
      const { kind: _kind, tool: name, ...decided } = step.decided
      return { kind: 'approval', ...times, name, ...decided }
    }
    const { usage: used, cost_nano = null } = step
    return { kind: 'tool', ...times, index: step.index, ...step.call, ...(used && { usage: totalOf(used), cost_nano }) }
  })
}

const MAX_UNFIT = 4_000

function shownUnfit({ text, problems, asked }: Unfit): UnfitReceipt {
  const shown = problems.map(({ at, problem }) => ({ field: at, error: problem }))
  return { answer: text.slice(0, MAX_UNFIT).toWellFormed(), problems: shown, asked }
}

function totalOf(tokens: TokenCount): z.output<typeof TokenUsage> {
  return { ...tokens, total_tokens: tokens.input_tokens + tokens.output_tokens }
}

/** Steps as clients see them. */
export function presentSteps(steps: readonly ReceiptStep[]): z.input<typeof ReceiptStepShape>[] {
  return steps.map((step) => {
    if (step.kind === 'model') {
      const { cost_nano, ...rest } = step
      return { ...rest, cost_usd: usdOf(cost_nano) }
    }
    if (step.kind === 'wait' || step.kind === 'tool') {
      const { cost_nano, ...rest } = step
      return cost_nano === undefined ? rest : { ...rest, cost_usd: usdOf(cost_nano) }
    }
    if (step.kind !== 'recall') return step
    const { turns, memories, summarized_at, ...rest } = step
    return { ...rest, turns: turns.length, memories: memories.length, summary: summarized_at !== null }
  })
}

/** Steps without their texts: only costs and times are kept. */
export function withoutWords(steps: readonly ReceiptStep[]): ReceiptStep[] {
  return steps.map((step) => {
    if (step.kind === 'approval') {
      const { arguments: _given, note: _note, answer: _answer, ...rest } = step
      return { ...rest, by: withoutToken(rest.by) }
    }
    if (step.kind === 'recall') return { ...step, turns: [], memories: [], summarized_at: null }
    if (step.kind === 'model' && step.unfit) return { ...step, unfit: { ...step.unfit, answer: '', problems: [] } }
    if (step.kind !== 'tool') return step
    if ('error' in step) return { ...step, arguments: {}, error: '' }
    const { files: _files, ...rest } = step
    return { ...rest, arguments: {}, result: '' }
  })
}

/** A token's ID identifies a person, so erased data contains an ID that belongs to no actor instead. */
export function withoutToken<Id extends string | null>(id: Id): Id | 'token:erased' {
  return id?.startsWith('token:') ? 'token:erased' : id
}

/** The model's answer and its tool calls, in the order in which the calls ended. */
type Round = { attempt: number; characters: number; tools: ToolReceipt[] }

function roundsOf(steps: readonly ReceiptStep[]): Round[] {
  const rounds: Round[] = []
  for (const step of steps) {
    if (step.kind === 'model') rounds.push({ attempt: step.attempt, characters: step.characters, tools: [] })
    if (step.kind !== 'tool') continue
    if (rounds.length === 0) rounds.push({ attempt: step.attempt, characters: 0, tools: [] })
    rounds.at(-1)?.tools.push(step)
  }
  return rounds
}

type EndedTranscript = { attempt: number; response: string | null; steps: readonly ReceiptStep[] }

/** The transcript of an ended invocation. Its last answer may contain calls for the caller. */
export function transcriptOf(
  { attempt, response, steps }: EndedTranscript,
  handed: readonly (ShownCall & { index: number })[],
): Transcript {
  const transcript = new Transcript(attempt)
  const text = response ?? ''
  let said = 0
  const say = (characters: number) => {
    if (characters > 0) transcript.add({ type: 'delta', text: text.slice(said, said + characters) })
    said += characters
  }
  const rounds = roundsOf(steps)
  for (const [i, { characters, tools }] of rounds.entries()) {
    say(characters)
    const calls = i === rounds.length - 1 ? [...tools, ...handed] : tools
    for (const call of calls.toSorted((a, b) => a.index - b.index)) {
      const { id, name, arguments: given } = call
      transcript.add({
        type: 'tool_call',
        id,
        name,
        arguments: given,
        ...('kind' in call ? {} : { handed: call.index }),
      })
    }
    for (const tool of tools) {
      const { id, name } = tool
      transcript.add({ type: 'tool_result', id, name, ...resultOf(tool) })
    }
  }
  say(text.length - said)
  return transcript
}

function resultOf(tool: ToolResult): ToolResult {
  const named = tool.child && { child: tool.child }
  if ('error' in tool) return { error: tool.error, ...named }
  const { result, files } = tool
  return { result, ...(files && { files }), ...named }
}

/** How many stored steps each attempt had, according to the receipt. */
export function receiptMilestones(steps: readonly ReceiptStep[]): Position[] {
  return milestonesOfParts(
    roundsOf(steps).flatMap(({ attempt, characters, tools }) => [
      { attempt, characters, tools: tools.length },
      ...tools.map((tool) => ({ attempt: tool.attempt, characters: 0, tools: 1 })),
    ]),
  )
}
