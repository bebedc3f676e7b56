import { storable } from '../lib/text/text.ts'
import { askModel } from './ask-model.ts'
import type { ModelAnswer, ToolCall } from './models/model.ts'
import { AgentFailure, type ToolStep } from './outcome.ts'
import { type RunInProgress, Stopped } from './run-in-progress.ts'
import { nextStep } from './steps.ts'
import { parseArguments } from './tools/arguments.ts'

const MAX_CALLS_PER_STEP = 16

/** Takes one step after the other until the model has answered. The response is in `left`. */
export async function converse(run: RunInProgress): Promise<void> {
  const { deadline, left } = run
  const { max_steps } = run.input.agent.limits
  for (;;) {
    const next = nextStep(left.steps, max_steps)
    if (next.kind === 'answer') return checkFinish(next.finish, run)
    if (next.kind === 'too many steps') {
      throw new AgentFailure(`The agent did not finish within ${max_steps} steps`, { max_steps })
    }
    if (next.kind === 'model') {
      const answer = await askModel(run, next.rounds)
      left.steps.push({ kind: 'model', answer })
    } else {
      await callTools(run, next.calls)
    }
    if (deadline.stopped) throw new Stopped()
  }
}

function checkFinish(finish: ModelAnswer['finish'], { left: { response }, log }: RunInProgress): void {
  if (finish === 'filtered' && response === '') throw new AgentFailure('The model declined to answer (content filter)')
  if (finish === 'filtered') log('warn', 'The model stopped early (content filter)')
  if (finish === 'length') log('warn', 'The answer was cut off at the output token limit')
}

/** The calls run side by side; all have ended when this returns or throws. */
async function callTools(run: RunInProgress, calls: readonly ToolCall[]): Promise<void> {
  const ended = await Promise.allSettled(calls.map((call, index) => callTool(run, call, index)))
  // Also of a run that ends here: what a tool did is done, and the receipt must tell.
  for (const one of ended) if (one.status === 'fulfilled') run.left.steps.push({ kind: 'tool', call: one.value })
  if (run.deadline.stopped) throw new Stopped()
  for (const one of ended) if (one.status === 'rejected') throw one.reason
}

async function callTool(run: RunInProgress, call: ToolCall, index: number): Promise<ToolStep> {
  const { toolbox, emit, log, now } = run
  const { id } = call
  const name = storable(call.name.slice(0, 128))
  const args = parseArguments(call.arguments)
  const shown = 'value' in args ? args.value : args.raw
  const started = now()
  emit?.({ type: 'tool_call', id, name, arguments: shown })
  const result =
    index < MAX_CALLS_PER_STEP
      ? await toolbox.call(name, args)
      : { error: `At most ${MAX_CALLS_PER_STEP} tool calls at once` }
  const duration_ms = now() - started
  emit?.({ type: 'tool_result', id, name, ...result })
  if ('error' in result) log('warn', `Tool ${name} failed`, { tool: name, duration_ms, error: result.error })
  else log('info', `Tool ${name} answered`, { tool: name, duration_ms, characters: result.result.length })
  return { id, name, arguments: shown, duration_ms, ...result }
}
