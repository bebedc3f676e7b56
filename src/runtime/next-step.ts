import { isDeepStrictEqual } from 'node:util'
import type { Ruling } from './approvals/ask.ts'
import type { ModelAnswer, Round, ToolCall } from './models/model.ts'
import { addCosts, type Cost, nanoOf } from './models/usage.ts'
import { type ApprovalStep, INTERRUPTED, type ModelSpend, type Step, type Unfit } from './steps.ts'
import { parseArguments } from './tools/arguments.ts'

/** A tool call that has no result yet. */
export type PendingCall = {
  call: ToolCall
  index: number
  /** The call's number among all answers and calls of the run. It is the same in every attempt. */
  number: number
  /** Whether followers received this call in an earlier attempt. */
  isTold: boolean
  /** Whether an earlier attempt may have made this call. Its result is unknown. */
  isInDoubt: boolean
  /** People's decision about the call, if they were asked. */
  decided: Ruling | undefined
  /** How many times in a row the run has requested this call, including now. */
  repeats: number
}

export type NextStep =
  /** Ask the model, showing it the rounds so far. */
  | { kind: 'model'; rounds: RoundRecord[]; asksOutput: boolean }
  /** Call these tools in parallel. The calls in `handed` are left to the caller. */
  | { kind: 'tools'; calls: readonly PendingCall[]; handed?: readonly PendingCall[] }
  /** Wait until this time, or until the budget changes. */
  | { kind: 'wait'; until: number; waits_for?: string }
  /** The model has finished its answer, or the caller has to provide the results of the remaining calls. */
  | { kind: 'answer'; finish: ModelAnswer['finish']; handed?: readonly PendingCall[] }
  /** No answer fits, and the model isn't asked again. */
  | { kind: 'unfit'; unfit: Unfit; answers: number }
  /** The run can't continue. */
  | { kind: 'over'; limit: RunLimit }

/** The limit that a run has reached. A cost of null is unknown. */
export type RunLimit =
  | { name: 'max_steps' | 'max_tool_calls'; most: number }
  | { name: 'max_tokens_per_run'; most: number; used: number }
  | { name: 'max_cost_per_run'; most: number; cost: Cost }
  | { name: 'repeats'; tool: string; most: number }

/** From this repetition on, the call isn't made, and the model receives an error. */
export const MOST_REPEATS = 3
/** The run ends at this repetition. */
const END_AT_REPEATS = 5

type Situation = StepLimits & {
  attempt: number
  now: number
  /** Set if a program requests the calls, because it may intend to make the same call again and again. */
  mayRepeat?: boolean | undefined
  /** Present if the answer must be JSON. */
  output?: { retries: number; isAtOnce: boolean } | undefined
}

type StepLimits = {
  max_steps: number
  max_tool_calls?: number | null
  max_tokens_per_run?: number | null
  /** In dollars. */
  max_cost_per_run?: number | null
}

/** Determines a run's next step, which depends only on the steps so far and the time. */
export function nextStep(steps: readonly Step[], { attempt, now, mayRepeat, output, ...limits }: Situation): NextStep {
  const latest = steps.findLast(({ kind }) => kind !== 'recall')
  // A later attempt started because the wait was over.
  if (latest?.kind === 'wait' && latest.attempt === attempt && latest.finished_at > now) {
    const { finished_at: until, waits_for } = latest
    return { kind: 'wait', until, ...(waits_for !== undefined && { waits_for }) }
  }
  const rounds = roundsOf(steps)
  const last = rounds.at(-1)
  const spent = spendingLimit(steps, limits)
  const asksOutput = output?.isAtOnce ?? false
  if (!last) return spent ? { kind: 'over', limit: spent } : { kind: 'model', rounds, asksOutput }
  if (last.unfit && output) return afterUnfit(last.unfit, rounds, output.retries, spent)
  if (last.calls.length === 0) return { kind: 'answer', finish: last.finish }
  const number = rounds.reduce((sum, { calls }) => sum + 1 + calls.length, 0) - last.calls.length
  const calls = last.calls
    .map((call, index) => ({
      call,
      index,
      number: number + 1 + index,
      isTold: last.attempt < attempt,
      repeats: mayRepeat ? 1 : repeatsOf(rounds, index),
      ...standingOf(last, index, attempt),
    }))
    .filter(({ index }) => last.results[index] === undefined)
  const handed = calls.filter(({ call }) => call.handed)
  if (handed.length > 0 && handed.length === calls.length) return { kind: 'answer', finish: last.finish, handed }
  const limit = spent ?? callLimit(rounds, calls, limits)
  if (limit) return { kind: 'over', limit }
  if (calls.length === 0) return { kind: 'model', rounds, asksOutput }
  if (handed.length === 0) return { kind: 'tools', calls }
  return { kind: 'tools', calls: calls.filter(({ call }) => !call.handed), handed }
}

/** Asks the model for JSON again, as many times as allowed. */
function afterUnfit(
  unfit: Unfit,
  rounds: RoundRecord[],
  retries: number,
  spent: RunLimit | undefined,
): Extract<NextStep, { kind: 'model' | 'unfit' | 'over' }> {
  const answers = rounds.filter((round) => round.unfit?.asked).length
  if (unfit.isFinal || answers > retries) return { kind: 'unfit', unfit, answers }
  return spent ? { kind: 'over', limit: spent } : { kind: 'model', rounds, asksOutput: true }
}

/** Whether the steps so far have reached a limit of the run. */
function spendingLimit(steps: readonly Step[], limits: StepLimits): RunLimit | undefined {
  const { max_tokens_per_run: tokens = null, max_cost_per_run: dollars = null } = limits
  if (tokens === null && dollars === null) return undefined
  let used = 0
  let cost: Cost = 0
  for (const { usage, cost_nano } of steps.flatMap(spentIn)) {
    used += usage.input_tokens + usage.output_tokens
    cost = addCosts(cost, cost_nano)
  }
  if (tokens !== null && used >= tokens) return { name: 'max_tokens_per_run', most: tokens, used }
  const isOver = dollars !== null && (cost === null || cost >= nanoOf(dollars))
  return isOver ? { name: 'max_cost_per_run', most: dollars, cost } : undefined
}

/** The usage of a step, including the runs of other agents that it called. */
function spentIn(step: Step): ModelSpend[] {
  const own = 'usage' in step && step.usage ? [{ usage: step.usage, cost_nano: step.cost_nano ?? null }] : []
  return step.kind === 'tool' && step.below ? [...own, step.below] : own
}

/** Whether the run can neither make these calls nor ask the model again. */
function callLimit(
  rounds: readonly RoundRecord[],
  calls: readonly PendingCall[],
  { max_steps, max_tool_calls = null }: StepLimits,
): RunLimit | undefined {
  if (rounds.length >= max_steps) return { name: 'max_steps', most: max_steps }
  if (max_tool_calls !== null && ownCalls(rounds).length > max_tool_calls) {
    return { name: 'max_tool_calls', most: max_tool_calls }
  }
  const endless = calls.find(({ call, repeats }) => !call.handed && repeats >= END_AT_REPEATS)
  return endless && { name: 'repeats', tool: endless.call.name, most: END_AT_REPEATS }
}

/** The calls that the service makes itself, not the caller. */
function ownCalls(rounds: readonly Round[]): ToolCall[] {
  return rounds.flatMap(({ calls }) => calls.filter(({ handed }) => !handed))
}

/** How many times in a row the call at this position of the last answer was requested, including now. */
function repeatsOf(rounds: readonly Round[], index: number): number {
  const last = rounds.at(-1)
  const call = last?.calls[index]
  if (!last || !call) return 0
  const before = ownCalls([...rounds.slice(0, -1), { ...last, calls: last.calls.slice(0, index) }])
  let repeats = 1
  while (repeats < END_AT_REPEATS && isSameCall(before.at(-repeats), call)) repeats++
  return repeats
}

/** Whether both call the same tool with the same arguments, regardless of their order. */
function isSameCall(one: ToolCall | undefined, other: ToolCall): boolean {
  if (one?.name !== other.name) return false
  if (one.arguments === other.arguments) return true
  return isDeepStrictEqual(parseArguments(one.arguments), parseArguments(other.arguments))
}

/** The model's answers so far, if the caller has to call tools before it continues. */
export function roundsForCaller(steps: readonly Step[], before: readonly Round[] = []): Round[] | undefined {
  const last = steps.findLast((step) => step.kind === 'model')
  if (!last?.answer.calls.some(({ handed }) => handed)) return undefined
  return [
    ...before,
    ...roundsOf(steps).map(({ attempt: _attempt, approvals: _approvals, waited: _waited, ...round }) => round),
  ]
}

/**
 * Whether a call may already have been made, and what was decided about it. A call can be made from the attempt that
 * answered, or if people were asked about it, from the attempt after that. An attempt that ended with a wait has made
 * no call that has no result.
 */
function standingOf({ attempt: answered, approvals, waited }: RoundRecord, index: number, attempt: number) {
  const approval = approvals?.[index]
  const mayHaveMade = (first: number) => attempt - first > (waited?.filter((one) => one >= first).length ?? 0)
  if (!approval) return { isInDoubt: mayHaveMade(answered), decided: undefined }
  const { decided } = approval
  // A call that wasn't approved, or a question, is never made.
  const isToBeMade = decided.decision === 'approved' && decided.kind !== 'question'
  return { isInDoubt: isToBeMade && mayHaveMade(approval.attempt + 1), decided }
}

/**
 * A round, with the attempt that asked the model, people's decisions about the calls, the attempts that have ended with
 * a wait since then, and what is wrong with the answer if it doesn't fit.
 */
export type RoundRecord = Round & { attempt: number; approvals?: ApprovalStep[]; waited?: number[]; unfit?: Unfit }

/** Each answer of the model with the results of its tool calls, in the order of the calls. */
function roundsOf(steps: readonly Step[]): RoundRecord[] {
  const rounds: RoundRecord[] = []
  for (const step of steps) {
    if (step.kind === 'model') {
      const { answer, attempt, unfit } = step
      rounds.push({ ...answer, results: [], attempt, ...(unfit && { unfit, text: unfit.text }) })
    }
    const round = rounds.at(-1)
    if (step.kind === 'tool' && round) round.results[step.index] = step.call
    if (step.kind === 'wait' && step.reason !== INTERRUPTED && round) (round.waited ??= []).push(step.attempt)
    if (step.kind === 'approval' && round) {
      round.approvals ??= []
      round.approvals[step.index] = withEarlier(step, round.approvals[step.index])
    }
  }
  return rounds
}

/** Earlier changes to the arguments stay when a person is asked again. */
function withEarlier(step: ApprovalStep, earlier: ApprovalStep | undefined): ApprovalStep {
  return { ...step, decided: { ...step.decided, arguments: step.decided.arguments ?? earlier?.decided.arguments } }
}
