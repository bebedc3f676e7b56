import { storable } from '../lib/text.ts'
import type { Deadline } from './deadline.ts'
import type { Exchange, Model, StepAnswer, ToolCall } from './models/model.ts'
import { AgentFailure, type Log, type RunEvent, type RunInput, type ToolStep, type Usage } from './outcome.ts'
import { parseArguments } from './tools/arguments.ts'
import type { Toolbox } from './tools/toolbox.ts'

/** A run in progress: who answers, with what, and the account it leaves. */
export type Conversation = {
  input: RunInput
  model: Model
  toolbox: Toolbox
  deadline: Deadline
  emit: ((event: RunEvent) => void) | undefined
  log: Log
  now: () => number
  usage: Usage
  steps: ToolStep[]
}

const MAX_RESPONSE_CHARACTERS = 1024 * 1024
const MAX_CALLS_PER_STEP = 16

/** Thrown to leave a run that was stopped from outside; the deadline knows why. */
export class Stopped extends Error {}

/** Asks the model, runs the tools it calls, and asks again until it has nothing more to call. */
export async function converse(conversation: Conversation): Promise<string> {
  const { input, model, toolbox, deadline, emit, log } = conversation
  const { max_steps: maxSteps } = input.agent.limits
  const exchanges: Exchange[] = []
  let response = ''
  let stepStart = 0

  const say = (text: string) => {
    // Joined deltas are the response, so what parts two steps is a delta as well.
    const delta = response !== '' && response.length === stepStart ? `\n\n${text}` : text
    if (response.length + delta.length > MAX_RESPONSE_CHARACTERS) throw new AgentFailure('The answer is too long')
    response += delta
    emit?.({ type: 'delta', text: delta })
  }

  for (let step = 1; step <= maxSteps; step += 1) {
    stepStart = response.length
    const answering = model.step({
      input,
      exchanges,
      tools: toolbox.definitions,
      deadline,
      say,
      streaming: emit !== undefined,
      log,
    })
    const answer = answering instanceof Promise ? await answering : answering
    account(conversation.usage, answer)
    if (deadline.stopped) throw new Stopped()
    if (answer.calls.length === 0) {
      checkFinish(answer, response, log)
      return response
    }
    if (step === maxSteps) break

    const results = await callTools(conversation, answer.calls)
    exchanges.push({ calls: answer.calls, results, native: answer.native })
  }
  throw new AgentFailure(`The agent did not finish within ${maxSteps} steps`, { max_steps: maxSteps })
}

function account(usage: Usage, { usage: { input_tokens, output_tokens } }: StepAnswer) {
  usage.input_tokens += input_tokens
  usage.output_tokens += output_tokens
  usage.total_tokens += input_tokens + output_tokens
}

function checkFinish({ finish }: StepAnswer, response: string, log: Log) {
  if (finish === 'filtered' && response === '') throw new AgentFailure('The model declined to answer (content filter)')
  if (finish === 'filtered') log('warn', 'The model stopped early (content filter)')
  if (finish === 'length') log('warn', 'The answer was cut off at the output token limit')
}

/** The calls of one step run side by side; all have ended when this returns or throws. */
async function callTools(conversation: Conversation, calls: readonly ToolCall[]) {
  const settled = await Promise.allSettled(calls.map((call, index) => callOne(conversation, call, index)))
  // Also of a run that ends here: what a tool did is done, and the receipt must tell.
  const results = settled.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
  conversation.steps.push(...results)
  if (conversation.deadline.stopped) throw new Stopped()
  for (const outcome of settled) if (outcome.status === 'rejected') throw outcome.reason
  return results
}

async function callOne(conversation: Conversation, call: ToolCall, index: number): Promise<ToolStep> {
  const { toolbox, emit, log, now } = conversation
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
