import { isDeepStrictEqual } from 'node:util'
import type { Ruling } from './approvals/ask.ts'
import { addCosts, type Cost, nanoOf } from './models/cost.ts'
import type { ModelAnswer, Round, ToolCall } from './models/model.ts'
import type { TokenCount } from './models/usage.ts'
import type { LogEntry, ToolStep } from './outcome.ts'
import type { LeftOut } from './prompt/fit-prompt.ts'
import { parseArguments } from './tools/arguments.ts'

/** What every step has: its attempt, its times and its log entries. */
type StepTimes = { attempt: number; started_at: number; finished_at: number; logs: readonly LogEntry[] }

/** What calls of models have used and cost, also those that failed. */
type Spent = { usage: TokenCount; cost_nano: Cost }

/** Memory was asked before the model was. The step names what was found and has no texts: memory has them. */
export type RecallStep = StepTimes & { kind: 'recall' } & RecalledNames

export type RecalledNames = {
  /** The turns of the session that are its history, by their seqs in memory, oldest first. */
  turns: readonly number[]
  /** What was recalled, best first. */
  memories: readonly { seq: number; score: number }[]
  /** When the summary of the session was written, if there was one. */
  summarized_at: number | null
}

/** A model that was asked before the one that answered, and why it did not answer. */
export type PassedOver = { model: string; error: string }

/**
 * The model was asked. `text` is what it added to the response. `left_out` is there if the prompt would have been too
 * long.
 */
export type ModelStep = StepTimes &
  Spent & {
    kind: 'model'
    answer: ModelAnswer
    /** The one that answered, of the agent's models. */
    model: string
    passed_over?: PassedOver[]
    text: string
    left_out?: LeftOut
  }

/** A tool was called. `index` is the position of the call in the answer that asked for it. */
export type ToolCallStep = StepTimes & { kind: 'tool'; index: number; call: ToolStep }

/**
 * The run waited until a time, until its project was resumed, or until the budget changed that `waits_for` names. No
 * process held it meanwhile. `finished_at` is when it was to go on at the latest.
 */
export type WaitStep = StepTimes & Spent & { kind: 'wait'; reason: string; waits_for?: string }

/** The reason of a wait that a resume has ended. */
export const PAUSED = 'Paused'

/** A person was asked about a call, and has decided. The attempt is the one that asked. */
export type ApprovalStep = StepTimes & { kind: 'approval'; index: number; decided: Ruling }

/** One thing that a run has done. Steps are plain values, in the order in which they ended. */
export type Step = RecallStep | ModelStep | ToolCallStep | WaitStep | ApprovalStep

/**
 * Stores what a run has done, so that another process can go on after it. Without one, a run ends when its process
 * dies. It is the interface for whatever executes runs durably: it gives the steps of earlier attempts, and stores new
 * ones.
 */
export type StepKeeper = {
  readonly kept: readonly Step[]
  /** Whether the run may leave its process and go on later, because nobody waits for its answer. */
  readonly mayWait: boolean
  /** Whether it waits for budgets that have no room, instead of failing. */
  readonly waitsForBudgets: boolean
  /**
   * Gets all steps of the run so far, including those of earlier attempts. Resolves once they are on disk, in this
   * order, and in the order of the calls. Rejects with StepNotKept.
   */
  keep(steps: readonly Step[]): Promise<void>
}

/**
 * The run cannot go on here, because a step could not be stored or another process has the run. It is not the agent's
 * failure.
 */
export class StepNotKept extends Error {}

/** A tool call that has no result yet. */
export type PendingCall = {
  call: ToolCall
  index: number
  /** Its number among all steps of the run, the same in every attempt. */
  number: number
  /** Followers were told about this call in an earlier attempt. */
  isTold: boolean
  /** An earlier attempt may have made this call, and its result is not known. */
  isInDoubt: boolean
  /** What people have decided about it, as far as they were asked. */
  decided: Ruling | undefined
  /** How often the run has asked for this call in a row, with this time. */
  repeats: number
}

export type NextStep =
  /** Ask the model, and show it the rounds so far. */
  | { kind: 'model'; rounds: Round[] }
  /** Call these tools in parallel. Those in `handed` are left to the caller. */
  | { kind: 'tools'; calls: readonly PendingCall[]; handed?: readonly PendingCall[] }
  /** Wait until this time, or until the budget changes. */
  | { kind: 'wait'; until: number; waits_for?: string }
  /** The model has finished its answer, or only calls are left whose results the caller has to give. */
  | { kind: 'answer'; finish: ModelAnswer['finish']; handed?: readonly PendingCall[] }
  /** The run may not go on. */
  | { kind: 'over'; limit: RunLimit }

/** What a run has come to the end of. A cost of null is one that is not known. */
export type RunLimit =
  | { name: 'max_steps' | 'max_tool_calls'; most: number }
  | { name: 'max_tokens_per_run'; most: number; used: number }
  | { name: 'max_cost_per_run'; most: number; cost: Cost }
  | { name: 'repeats'; tool: string; most: number }

/** From this time on in a row, the same call is not made, and the model is told so. */
export const MOST_REPEATS = 3
/** With this time in a row, the run ends. */
const END_AT_REPEATS = 5

type Situation = StepLimits & { attempt: number; now: number }

type StepLimits = {
  max_steps: number
  max_tool_calls?: number | null
  max_tokens_per_run?: number | null
  /** In dollars. */
  max_cost_per_run?: number | null
}

/** The next step of a run follows from the steps so far and the time, and from nothing else. */
export function nextStep(steps: readonly Step[], { attempt, now, ...limits }: Situation): NextStep {
  const latest = steps.findLast(({ kind }) => kind !== 'recall')
  // A later attempt was begun because the wait was over.
  if (latest?.kind === 'wait' && latest.attempt === attempt && latest.finished_at > now) {
    const { finished_at: until, waits_for } = latest
    return { kind: 'wait', until, ...(waits_for !== undefined && { waits_for }) }
  }
  const rounds = roundsOf(steps)
  const last = rounds.at(-1)
  const spent = spendingLimit(steps, limits)
  if (!last) return spent ? { kind: 'over', limit: spent } : { kind: 'model', rounds }
  if (last.calls.length === 0) return { kind: 'answer', finish: last.finish }
  const number = rounds.reduce((sum, { calls }) => sum + 1 + calls.length, 0) - last.calls.length
  const calls = last.calls
    .map((call, index) => ({
      call,
      index,
      number: number + 1 + index,
      isTold: last.attempt < attempt,
      repeats: repeatsOf(rounds, index),
      ...standingOf(last, index, attempt),
    }))
    .filter(({ index }) => last.results[index] === undefined)
  const handed = calls.filter(({ call }) => call.handed)
  if (handed.length > 0 && handed.length === calls.length) return { kind: 'answer', finish: last.finish, handed }
  const limit = spent ?? callLimit(rounds, calls, limits)
  if (limit) return { kind: 'over', limit }
  if (calls.length === 0) return { kind: 'model', rounds }
  if (handed.length === 0) return { kind: 'tools', calls }
  return { kind: 'tools', calls: calls.filter(({ call }) => !call.handed), handed }
}

/** Whether the steps so far have used what the run may use. */
function spendingLimit(steps: readonly Step[], limits: StepLimits): RunLimit | undefined {
  const { max_tokens_per_run: tokens = null, max_cost_per_run: dollars = null } = limits
  if (tokens === null && dollars === null) return undefined
  let used = 0
  let cost: Cost = 0
  for (const step of steps) {
    if (step.kind !== 'model' && step.kind !== 'wait') continue
    used += step.usage.input_tokens + step.usage.output_tokens
    cost = addCosts(cost, step.cost_nano)
  }
  if (tokens !== null && used >= tokens) return { name: 'max_tokens_per_run', most: tokens, used }
  const isOver = dollars !== null && (cost === null || cost >= nanoOf(dollars))
  return isOver ? { name: 'max_cost_per_run', most: dollars, cost } : undefined
}

/** Whether the run may neither make these calls nor ask the model again. */
function callLimit(
  rounds: readonly KeptRound[],
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

/** Those that the caller does not make. */
function ownCalls(rounds: readonly Round[]): ToolCall[] {
  return rounds.flatMap(({ calls }) => calls.filter(({ handed }) => !handed))
}

/** How often the call at this position of the last answer was asked for in a row, with this time. */
function repeatsOf(rounds: readonly Round[], index: number): number {
  const last = rounds.at(-1)
  const call = last?.calls[index]
  if (!last || !call) return 0
  const before = ownCalls([...rounds.slice(0, -1), { ...last, calls: last.calls.slice(0, index) }])
  let repeats = 1
  while (repeats < END_AT_REPEATS && isSameCall(before.at(-repeats), call)) repeats++
  return repeats
}

/** Whether both call the same tool with the same arguments, in whatever order these are written. */
function isSameCall(one: ToolCall | undefined, other: ToolCall): boolean {
  if (one?.name !== other.name) return false
  if (one.arguments === other.arguments) return true
  return isDeepStrictEqual(parseArguments(one.arguments), parseArguments(other.arguments))
}

/** What the model has answered so far, if the caller has to call tools before it goes on. */
export function roundsForCaller(steps: readonly Step[], before: readonly Round[] = []): Round[] | undefined {
  const last = steps.findLast((step) => step.kind === 'model')
  if (!last?.answer.calls.some(({ handed }) => handed)) return undefined
  return [
    ...before,
    ...roundsOf(steps).map(({ attempt: _attempt, approvals: _approvals, waited: _waited, ...round }) => round),
  ]
}

/**
 * A call can be made from the attempt after the one that asked people about it, or else from the one that answered. An
 * attempt that ended with a wait has made no call without a result.
 */
function standingOf({ attempt: answered, approvals, waited }: KeptRound, index: number, attempt: number) {
  const approval = approvals?.[index]
  const mayHaveMade = (first: number) => attempt - first > (waited?.filter((one) => one >= first).length ?? 0)
  if (!approval) return { isInDoubt: mayHaveMade(answered), decided: undefined }
  const { decided } = approval
  // Otherwise it is never made.
  const isToBeMade = decided.decision === 'approved' && decided.kind !== 'question'
  return { isInDoubt: isToBeMade && mayHaveMade(approval.attempt + 1), decided }
}

/**
 * A round, the attempt that asked the model, what people have decided about its calls, and the attempts that have ended
 * with a wait since.
 */
type KeptRound = Round & { attempt: number; approvals?: ApprovalStep[]; waited?: number[] }

/** Each answer of the model with the results of its tool calls, in the order of the calls. */
function roundsOf(steps: readonly Step[]): KeptRound[] {
  const rounds: KeptRound[] = []
  for (const step of steps) {
    if (step.kind === 'model') rounds.push({ ...step.answer, results: [], attempt: step.attempt })
    const round = rounds.at(-1)
    if (step.kind === 'tool' && round) round.results[step.index] = step.call
    if (step.kind === 'wait' && round) (round.waited ??= []).push(step.attempt)
    if (step.kind === 'approval' && round) {
      round.approvals ??= []
      round.approvals[step.index] = withEarlier(step, round.approvals[step.index])
    }
  }
  return rounds
}

/** Arguments that were changed before stay changed when a person is asked again. */
function withEarlier(step: ApprovalStep, earlier: ApprovalStep | undefined): ApprovalStep {
  return { ...step, decided: { ...step.decided, arguments: step.decided.arguments ?? earlier?.decided.arguments } }
}
