import { SpendingRefused } from '../models/meter.ts'
import { type ModelAnswer, ModelFailure, type Round, type ToolCall } from '../models/model.ts'
import { addCosts, addTokens, NO_USAGE, tokensSince, type Usage, usdOf } from '../models/usage.ts'
import { nextStep, type PendingCall, type RoundRecord, type RunLimit } from '../next-step.ts'
import { AgentFailure } from '../outcome.ts'
import { outputInstruction, outputReminder } from '../output/ask-in-words.ts'
import type { WantedOutput } from '../output/wanted-output.ts'
import { type RunInProgress, RunStopped, taken, Waits } from '../run-in-progress.ts'
import { INTERRUPTED, type ModelStep, PAUSED, type Step, type WaitStep } from '../steps.ts'
import { toldCall } from '../told-steps.ts'
import { callTools } from '../tools/call-tools.ts'
import type { AnsweredBy, AnswerRequest } from './ask-model.ts'
import { noFittingAnswer, takeOutput } from './take-output.ts'

/** What a program can request in one run. Unlike a model, a program knows when to stop. */
const OF_PROGRAMS = { max_steps: 1_000, mayRepeat: true }

/** How often one run may wait for an overloaded provider. */
const MAX_WAITS = 8
const MAX_WAIT_MS = 24 * 3_600_000
/** The shortest wait, used even if the provider names a shorter one: it is still overloaded. */
const MIN_WAIT_MS = 1_000
const NOT_FOR_PROVIDERS = new Set([PAUSED, INTERRUPTED])
/**
 * By then, the calls that reserve the rest of a budget have usually ended. Otherwise, the run waits this long again.
 */
const MAX_HELD_WAIT_MS = 60_000
/** No budget period is longer than this. A budget that never starts over is checked again after this time. */
const MAX_BUDGET_WAIT_MS = 32 * 24 * 3_600_000

/**
 * Gets the next answer. `isAsked` says whether JSON was requested, if that is known. `isRepeatable` means that the
 * answer's calls have no effect outside of the run, and are requested again if the process dies before they have
 * results.
 */
type Ask = (asking: AnswerRequest) => Promise<AnsweredBy & { isAsked?: boolean; isRepeatable?: boolean }>

/** Takes steps until the model or program has answered. The response is in `left`. */
export async function converse(run: RunInProgress, ask: Ask): Promise<void> {
  const { attempt, deadline, keeper, left, now } = run
  const { limits, kind } = run.input.agent
  const own = kind === 'remote' ? OF_PROGRAMS : undefined
  const output = run.output && { retries: run.output.wanted.retries, isAtOnce: run.output.isAtOnce }
  // Nothing has read the files before the first answer, unless the run continues another run's message.
  const { attachments, given } = run.input
  const isFirst = !given?.goes_on && !left.steps.some((step) => step.kind === 'model')
  if (isFirst && attachments?.length) await run.files.require(attachments)
  for (;;) {
    const next = nextStep(left.steps, { ...limits, ...own, attempt, now: now(), output })
    if (next.kind === 'answer') {
      // If the answer also called the agent's own tools, followers received all its calls at that time.
      if (next.handed && next.handed.length === callsOf(left.steps)) tellCalls(run, next.handed)
      // With an output schema, only the answer that fits becomes the response.
      if (output && !next.handed) left.output = { value: JSON.parse(left.response) }
      return checkFinish(next.finish, run)
    }
    if (next.kind === 'wait') throw new Waits(next.until, { waits_for: next.waits_for })
    if (next.kind === 'over') throw overLimit(next.limit)
    if (next.kind === 'unfit') throw noFittingAnswer(next)
    if (deadline.stopped === 'paused') throw new RunStopped()
    if (next.kind === 'model') {
      const before = { said: left.response.length, spent: left.usage, started_at: now() }
      run.step_cost = 0
      try {
        const wanted = next.asksOutput ? run.output?.wanted : undefined
        const asked = await ask({ rounds: withGiven(next.rounds, run), wanted })
        const answered = { ...asked, answer: handOver(asked.answer, run) }
        // Followers receive the draft of an output before the checked answer replaces it.
        if (run.output && run.emit) await run.stored
        const settled = run.output
          ? await takeOutput(run, run.output, answered, asked.isAsked ?? next.asksOutput)
          : answered
        const step = modelStep(run, settled, before)
        left.steps.push(step)
        // The final answer is stored with the receipt, perhaps even in the commit that stores the run. A repeatable
        // answer is stored with its first result. Any other answer that calls tools must be stored before the tools are
        // called, and an answer that doesn't fit before the model is asked again.
        if (step.answer.calls.length > 0 || step.unfit) await run.stored
        if ((step.answer.calls.length > 0 && !asked.isRepeatable) || step.unfit) await keeper?.keep(left.steps)
      } catch (error) {
        waitFor(error, run, before)
      }
    } else {
      tellCalls(run, next.handed ? [...next.calls, ...next.handed] : next.calls)
      // If a call from an earlier attempt has no result, it may have been made. It is repeated only if its tool allows
      // that.
      await callTools(run, next.calls)
    }
    // A pause doesn't end the run: it interrupts the model's answer, lets tools finish, and then stops the run before
    // the model is asked again.
    if (deadline.isOver) throw new RunStopped()
  }
}

/** Why a run can't continue, as clients see it. */
function overLimit(limit: RunLimit): AgentFailure {
  const { most } = limit
  switch (limit.name) {
    case 'max_steps':
      return new AgentFailure(`The agent did not finish within ${most} steps (limits.max_steps).`, { max_steps: most })
    case 'max_tool_calls':
      return new AgentFailure(`The agent tried to make more than ${most} tool calls (limits.max_tool_calls).`, {
        max_tool_calls: most,
      })
    case 'repeats': {
      const { tool } = limit
      return new AgentFailure(`The agent called ${tool} ${most} times in a row with the same arguments.`, { tool })
    }
    case 'max_tokens_per_run': {
      const { used } = limit
      return new AgentFailure(
        `The run used ${used} tokens, more than its limit of ${most} (limits.max_tokens_per_run).`,
        { used, max_tokens_per_run: most },
      )
    }
    case 'max_cost_per_run': {
      const cost = usdOf(limit.cost)
      const known = cost === null ? 'an unknown amount (a model has no price)' : `$${cost}`
      return new AgentFailure(`The run cost ${known}, more than its limit of $${most} (limits.max_cost_per_run).`, {
        cost,
        max_cost_per_run: most,
      })
    }
  }
}

/** The earlier answers that the caller repeats, then this run's own, each with what was wrong with it. */
function withGiven(rounds: RoundRecord[], { input: { given }, output }: RunInProgress): Round[] {
  const own = output ? rounds.map((round) => withReminder(round, output.wanted)) : rounds
  return given?.rounds ? [...given.rounds, ...own] : own
}

function withReminder(round: RoundRecord, wanted: WantedOutput): Round {
  if (!round.unfit) return round
  const { asked, problems } = round.unfit
  return { ...round, told: asked ? outputReminder(problems, wanted) : outputInstruction(wanted) }
}

/** Marks the calls that the caller has to make. A call that was cut off is never made. */
function handOver(answer: ModelAnswer, { toolbox: { handed } }: RunInProgress): ModelAnswer {
  if (handed.size === 0 || answer.calls.length === 0) return answer
  const isHanded = ({ name, cut }: ToolCall) => handed.has(name) && !cut
  return { ...answer, calls: answer.calls.map((call) => (isHanded(call) ? { ...call, handed: true } : call)) }
}

function callsOf(steps: readonly Step[]): number {
  return steps.findLast((step) => step.kind === 'model')?.answer.calls.length ?? 0
}

/** Tells followers about the calls of one answer, in order, unless an earlier attempt has already told them. */
function tellCalls({ emit }: RunInProgress, calls: readonly PendingCall[]): void {
  if (!emit) return
  for (const { call, index, isTold } of calls.toSorted((a, b) => a.index - b.index)) {
    if (!isTold) emit(toldCall(call, index))
  }
}

/** Makes the run wait, if it may, when the provider says when to retry or a budget has no room. Otherwise throws. */
function waitFor(error: unknown, run: RunInProgress, before: Before): void {
  const { said, started_at } = before
  const { deadline, keeper, left, log } = run
  const mayWait = keeper?.mayWait && !deadline.stopped && left.response.length === said
  const now = run.now()
  const wait = mayWait ? (waitForProvider(error, run) ?? waitForBudget(error, run, now)) : undefined
  if (!wait) throw error
  const { wait_ms, waits_for } = wait
  const reason = (error as AgentFailure).message
  const finished_at = now + wait_ms
  const earlier = budgetWait(left.steps)
  const spent = spentSince(before, run)
  if (waits_for !== undefined && earlier) {
    // The same wait continues. It remains one step, logged once, no matter how often the run checks for room.
    const usage = addTokens({ ...NO_USAGE, ...earlier.usage }, spent.usage)
    const cost_nano = addCosts(earlier.cost_nano, spent.cost_nano)
    const { attempt } = run
    left.steps.splice(-1, 1, { ...earlier, attempt, reason, waits_for, finished_at, usage, cost_nano })
    return
  }
  log('warn', `${reason} The run waits.`, { wait_ms })
  const times = { ...taken(run, started_at), finished_at }
  left.steps.push({ kind: 'wait', reason, ...(waits_for && { waits_for }), ...spent, ...times })
}

/** The wait for a budget that ended the previous attempt. */
function budgetWait(steps: readonly Step[]): WaitStep | undefined {
  const last = steps.at(-1)
  return last?.kind === 'wait' && last.waits_for !== undefined ? last : undefined
}

type Wait = { wait_ms: number; waits_for?: string }

function waitForProvider(error: unknown, { left }: RunInProgress): Wait | undefined {
  const after_ms = error instanceof ModelFailure ? error.retry?.after_ms : undefined
  const waits = left.steps.filter(
    (step) => step.kind === 'wait' && !NOT_FOR_PROVIDERS.has(step.reason) && step.waits_for === undefined,
  )
  if (after_ms === undefined || after_ms > MAX_WAIT_MS || waits.length >= MAX_WAITS) return undefined
  return { wait_ms: Math.max(after_ms, MIN_WAIT_MS) }
}

/**
 * Waits until the budget starts over, as often as necessary. If calls in progress have reserved the missing amount,
 * each wait is as long as the run has already waited.
 */
function waitForBudget(error: unknown, { keeper, left }: RunInProgress, now: number): Wait | undefined {
  if (!keeper?.waitsForBudgets || !(error instanceof SpendingRefused) || !error.opening) return undefined
  const { until, isHeld, state: waits_for } = error.opening
  const waited = now - (budgetWait(left.steps)?.started_at ?? now)
  const wait_ms = isHeld ? Math.min(waited, MAX_HELD_WAIT_MS) : (until ?? Infinity) - now
  return { wait_ms: Math.max(Math.min(wait_ms, MAX_BUDGET_WAIT_MS), MIN_WAIT_MS), waits_for }
}

type Before = { said: number; spent: Usage; started_at: number }

function spentSince({ spent }: Before, { left, step_cost: cost_nano }: RunInProgress) {
  return { usage: tokensSince(spent, left.usage), cost_nano }
}

function modelStep(run: RunInProgress, asked: AnsweredBy & Pick<ModelStep, 'unfit'>, before: Before): ModelStep {
  const { answer, model, passed_over, unfit } = asked
  const { left_out, left } = run
  return {
    kind: 'model',
    answer,
    model,
    ...(passed_over.length > 0 && { passed_over }),
    text: left.response.slice(before.said),
    ...spentSince(before, run),
    ...(left_out && { left_out }),
    ...(unfit && { unfit }),
    ...taken(run, before.started_at),
  }
}

function checkFinish(finish: ModelAnswer['finish'], { left: { response }, log }: RunInProgress): void {
  if (finish === 'filtered' && response === '') throw new AgentFailure('The model declined to answer (content filter).')
  if (finish === 'filtered') log('warn', 'The model stopped early (content filter).')
  if (finish === 'length') log('warn', 'The answer was cut off at the output token limit.')
}
