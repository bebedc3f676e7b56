import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import { plainIssue } from '../../lib/text/plain-issue.ts'
import { askModel } from '../conversation/ask-model.ts'
import { SpendingRefused } from '../models/meter.ts'
import { NO_USAGE } from '../models/usage.ts'
import { AgentFailure, type ToolAnswer, type ToolResult } from '../outcome.ts'
import { addSpent, type RunInProgress, Waits } from '../run-in-progress.ts'
import type { RunRequest } from '../runner.ts'
import { sentenceOf } from '../schemas/schema-errors.ts'
import { ASK_PERSON, HOST_STEP } from '../steps.ts'
import { askPerson } from '../tools/ask-person.ts'
import { type CallHeaders, type CallResult, type RunTool, ToolError } from '../tools/tool.ts'
import { NO_TOOLS } from '../tools/toolbox.ts'
import { HOST_INPUT, type HostStep } from './asked-step.ts'

/** The memories that a run can use: those of its agent and its user. `memory/` implements it. */
export type RunMemory = {
  search(
    owner: MemoryOwner,
    asked: { query: string; limit: number },
    run: Pick<RunInProgress, 'meter' | 'deadline'>,
  ): Promise<object[]>
  /** Writes a note. Writing a note with the same `key` again has no effect. */
  write(run: MemoryOwner & Pick<RunRequest, 'served'>, note: { content: string; key: string }): Promise<object>
}

export type MemoryOwner = { agent_id: string; user_id: string | undefined; session_id: string | undefined }

/** Null if the run started without memory. */
type RunOwner = Omit<MemoryOwner, 'agent_id'> & { agent_id: string | null }

/** The run stays in its process during a sleep shorter than this. */
const SHORT_SLEEP_MS = 2_000
/** A budget that never starts over is checked again after this time. */
const LONGEST_WAIT_MS = 32 * 24 * 3_600_000

type Input<Type extends HostStep> = z.output<(typeof HOST_INPUT)[Type]>

/** `owner` is the agent whose memories the run reads. It writes only to the memories of its own agent, `agent_id`. */
type Host = {
  memory: RunMemory
  owner: RunOwner
  agent_id: string
  served: RunRequest['served']
  run(): RunInProgress
}

/** What a remote agent can request from its host besides its own tools. Each of these is called like a tool. */
export function hostSteps(host: Host): RunTool[] {
  return [
    step('keep', async () => ({ result: 'kept' })),
    step('sleep', ({ until }) => sleepUntil(until, host.run())),
    step('memory_search', (asked) => search(asked, host)),
    step('memory_write', async ({ content }, headers) => {
      const key = headers['Idempotency-Key'] ?? ''
      const owner = { ...memoryOf(host), agent_id: host.agent_id, served: host.served }
      return { result: JSON.stringify(await host.memory.write(owner, { content, key })) }
    }),
    step('model', (asked) => ask(asked, host.run())),
    askPerson({ type: 'ask_person', name: ASK_PERSON, description: '', expires_after_seconds: null }),
  ]
}

/** Defines a host step. Repeating it is safe, because each step recognizes what it has already done. */
function step<Type extends HostStep>(
  type: Type,
  take: (input: Input<Type>, headers: CallHeaders) => Promise<CallResult>,
): RunTool {
  const definition = { name: HOST_STEP + type, description: '', input_schema: { type: 'object' } }
  const call: RunTool['call'] = async (args, headers) => {
    const input = HOST_INPUT[type].safeParse(args, { error: (issue) => plainIssue(issue) })
    if (!input.success) throw new ToolError(`Invalid arguments: ${problemIn(input.error)}`)
    return take(input.data as Input<Type>, headers)
  }
  return { definition, retry: 'safe', approval: 'never', call }
}

function problemIn({ issues: [first] }: z.ZodError): string {
  return first ? `${first.path.join('.') || 'they'}: ${first.message}` : ''
}

export function isHostStep(name: string): boolean {
  return name.startsWith(HOST_STEP)
}

/** The run leaves its process until this time, and then requests the step again. */
async function sleepUntil(until: number, { now, deadline }: RunInProgress): Promise<ToolAnswer> {
  const rest = until - now()
  if (rest > SHORT_SLEEP_MS) throw new Waits(until)
  if (rest > 0) await sleep(rest, undefined, { signal: deadline.signal })
  return { result: 'null' }
}

async function search(asked: Input<'memory_search'>, host: Host): Promise<ToolAnswer> {
  return { result: JSON.stringify(await host.memory.search(memoryOf(host), asked, host.run())) }
}

function memoryOf({ owner: { agent_id, ...owner } }: Host): MemoryOwner {
  if (agent_id === null) throw new ToolError("This run has no memory: the agent that called it didn't share one")
  return { agent_id, ...owner }
}

/** Asks a model without tools, as an agent with that model would. */
async function ask(asked: Input<'model'>, run: RunInProgress): Promise<CallResult> {
  const { agent } = run.input
  const { model = agent.model, instructions = null, history, message, temperature = null, output } = asked
  const limits = { ...agent.limits, max_output_tokens: least(asked.max_output_tokens, agent.limits.max_output_tokens) }
  const left = { response: '', usage: NO_USAGE, cost_nano: 0, steps: run.left.steps }
  const wanted = output && { schema: output.schema, retries: 0 }
  const inner: RunInProgress = {
    ...run,
    input: {
      agent: { ...agent, model, instructions, temperature, limits },
      message,
      context: {},
      history,
      recalled: [],
    },
    toolbox: NO_TOOLS,
    emit: undefined,
    left,
    step_cost: 0,
    output: wanted && run.outputFor(wanted),
  }
  const spent = () => ({ spent: { usage: left.usage, cost_nano: inner.step_cost } })
  try {
    await askModel(inner, { rounds: [], wanted })
    if (inner.output) return { ...(await fitting(inner.output)), ...spent() }
    return { result: JSON.stringify(left.response), ...spent() }
  } catch (error) {
    const isRefused = error instanceof SpendingRefused
    if (error instanceof AgentFailure && !isRefused) {
      // The agent only learns that the model failed. The provider's message is for the log.
      run.log('warn', error.message, error.detail)
      return { error: error.message, ...spent() }
    }
    // The run ends or waits, so no step records the call's usage.
    addSpent(run.left, spent().spent)
    throw isRefused ? withoutRoom(error, run) : error
  }
}

/** A step can ask for less than the agent's own limit, but not for more. */
function least(asked: number | undefined, limit: number | null): number | null {
  return limit === null ? (asked ?? null) : Math.min(asked ?? limit, limit)
}

async function fitting({ draft, check }: NonNullable<RunInProgress['output']>): Promise<ToolResult> {
  const checked = await check(draft)
  if ('value' in checked) return { result: JSON.stringify(checked.value) }
  const [first] = checked.problems
  return { error: `The answer does not match: ${first ? sentenceOf(first, 'answer') : ''}` }
}

/** If a budget has no room, the run ends or waits, as with every kind of agent. */
function withoutRoom(error: SpendingRefused, { keeper, now }: RunInProgress): Error {
  if (!keeper?.waitsForBudgets || !error.opening) return error
  const { until, isHeld, state: waits_for } = error.opening
  return new Waits(isHeld ? now() + SHORT_SLEEP_MS : (until ?? now() + LONGEST_WAIT_MS), { waits_for })
}
