import type { Ask, Ruling } from '../approvals/ask.ts'
import { MOST_REPEATS, type PendingCall } from '../next-step.ts'
import { addSpent, type RunInProgress, RunStopped, taken, Waits } from '../run-in-progress.ts'
import type { Step, ToolCallStep } from '../steps.ts'
import { shownCall } from '../told-steps.ts'
import { beginToolCall, endToolCall, failureType } from '../trace-steps.ts'
import { argumentsOf, type ToolArguments } from './arguments.ts'
import type { CallResult } from './tool.ts'

const MAX_CALLS_PER_STEP = 16

/** The result of a call that was in progress when the process died and that must not be made twice. */
const OUTCOME_UNKNOWN = {
  error:
    'The outcome of this call is unknown: the service stopped while it was in progress. It might have taken effect. It was not made again',
}

/**
 * Calls the tools in parallel. All calls have ended when this returns or throws. If people must be asked about some
 * calls, the other calls are made first, and then the run waits.
 */
export async function callTools(run: RunInProgress, calls: readonly PendingCall[]): Promise<void> {
  const asks: Ask[] = []
  const ready: { pending: PendingCall; refusal: Refusal | undefined }[] = []
  for (const pending of calls) {
    const ask = await askFor(run, pending)
    if (ask && 'call_id' in ask) asks.push(ask)
    else ready.push({ pending, refusal: ask })
  }
  const ended = await Promise.allSettled(ready.map(({ pending, refusal }) => callTool(run, pending, refusal)))
  // A paused run lets its calls finish and can still ask people. A run that is over stops here.
  if (run.deadline.isOver) throw new RunStopped()
  asks.push(...ended.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : [])))
  const reasons = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  const failure = reasons.find((reason) => !(reason instanceof Waits))
  if (failure) throw failure
  if (asks.length > 0) waitForPeople(run, asks)
  // Throws the earliest wait. When it is over, the others are checked again.
  if (reasons.length > 0) throw reasons.toSorted((a: Waits, b: Waits) => a.until - b.until)[0]
}

/**
 * Makes the run wait for people and for nothing else, because the questions expire when the run continues. Questions
 * that are asked together expire together, at the earliest time of any of them.
 */
function waitForPeople({ log, now }: RunInProgress, asks: readonly Ask[]): never {
  for (const { tool, kind, call_id } of asks)
    log('info', `Tool ${tool} is waiting for a person`, { tool, kind, call_id })
  const seconds = Math.min(...asks.map(({ expires_after_seconds }) => expires_after_seconds))
  throw new Waits(now() + seconds * 1000, { asks })
}

type Refusal = { error: string }

/** The result for a call that would only repeat the ones before it. */
const REPEATED = {
  error:
    'This call was not made: you have made it twice already with the same arguments. Use the results above, call it with other arguments, or answer without it',
}

/** What a person is asked, or why the call is refused without asking. Undefined if the call can be made. */
async function askFor(run: RunInProgress, pending: PendingCall): Promise<Ask | Refusal | undefined> {
  const { call, index, isInDoubt, decided, repeats } = pending
  if (repeats >= MOST_REPEATS) return REPEATED
  if (index >= MAX_CALLS_PER_STEP || (decided && decided.decision !== 'approved')) return undefined
  const asked = await run.toolbox.askFor(shownCall(call).name, decidedArguments(pending), {
    isInDoubt,
    isDecided: decided !== undefined,
  })
  if (!asked || 'error' in asked) return asked
  return { ...asked, index, call_id: callIdOf(pending, run.left.steps) }
}

/** The arguments of a call, with a person's changes. */
function decidedArguments({ call, decided }: PendingCall): ToolArguments {
  return decided?.arguments ? { value: decided.arguments } : argumentsOf(call)
}

/**
 * Calls a tool. What a tool has done can't be undone, so the step is recorded even if the run ends here. The receipt
 * must show it. If the server refused the call until people have done something, nothing was done, and they are asked.
 */
async function callTool(
  run: RunInProgress,
  pending: PendingCall,
  refusal: Refusal | undefined,
): Promise<Ask | undefined> {
  const { emit, keeper, left, log, now } = run
  const { call, index, decided } = pending
  const { id, name, arguments: asked } = shownCall(call)
  const called_at = now()
  const called: CallResult = refusal ?? (await resultOf(run, pending))
  const { spent, below, ask, began_at: started_at = called_at, ...result } = called
  if (ask) return { ...ask, index, call_id: callIdOf(pending, left.steps) }
  const duration_ms = now() - started_at
  if ('error' in result) log('warn', `Tool ${name} failed`, { tool: name, duration_ms, error: result.error })
  else log('info', `Tool ${name} answered`, { tool: name, duration_ms, characters: result.result.length })
  const done = { id, name, arguments: decided?.arguments ?? asked, duration_ms, ...result }
  const step: ToolCallStep = {
    kind: 'tool',
    index,
    call: done,
    ...spent,
    ...(below && { below }),
    ...taken(run, started_at),
  }
  left.steps.push(step)
  if (spent) addSpent(left, spent)
  await keeper?.keep(left.steps)
  emit?.({ type: 'tool_result', id, name, ...result })
  return undefined
}

async function resultOf(run: RunInProgress, pending: PendingCall): Promise<CallResult> {
  const { request_id, toolbox } = run
  const { call, index, number, isInDoubt, decided } = pending
  const { id, name } = shownCall(call)
  if (index >= MAX_CALLS_PER_STEP)
    return { error: `At most ${MAX_CALLS_PER_STEP} tool calls can be made at the same time` }
  if (decided?.answer !== undefined) return { result: decided.answer }
  if (decided && decided.decision !== 'approved') return refusalOf(decided, OUTCOME_UNKNOWN.error)
  if (isInDoubt && toolbox.retryOf(name) === 'never') return OUTCOME_UNKNOWN
  const args = decidedArguments(pending)
  const span = beginToolCall(run, { id, name, args })
  const headers = {
    'Idempotency-Key': `${request_id}-${number}`,
    ...(span && { traceparent: span.traceparent }),
  }
  try {
    const result = await toolbox.call(name, args, headers)
    if (span) endToolCall(span, result)
    return result
  } catch (error) {
    span?.end(error instanceof Waits ? undefined : failureType(error))
    throw error
  }
}

const PATH_SAFE = /^[A-Za-z0-9_-]{1,128}$/

/**
 * Returns a call's ID within its run: the ID that the model gave it if that is unique and can be part of a path,
 * otherwise the call's number.
 */
function callIdOf({ call: { id }, number }: PendingCall, steps: readonly Step[]): string {
  const calls = steps.flatMap((step) => (step.kind === 'model' ? step.answer.calls : []))
  const isOnly = calls.filter((other) => other.id === id).length === 1
  return isOnly && PATH_SAFE.test(id) ? id : `step-${number}`
}

/** The message to the model about a call that a person didn't allow. */
function refusalOf({ kind, decision, note }: Ruling, unknown: string): { error: string } {
  const why = note === undefined ? '' : `: ${note}`
  if (kind === 'retry') return { error: `${unknown}${why}` }
  if (kind === 'connection')
    return { error: `The user did not sign in${decision === 'expired' ? ' in time' : ''}, so it was not called${why}` }
  if (decision === 'expired')
    return { error: 'No person decided in time' + (kind === 'tool' ? ', so it was not called' : '') }
  return { error: kind === 'question' ? `The person did not answer${why}` : `A person rejected this call${why}` }
}
