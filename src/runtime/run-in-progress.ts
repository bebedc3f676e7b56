import type { Span } from '../telemetry/tracing.ts'
import type { Ask } from './approvals/ask.ts'
import type { ShownAttachment } from './attachments/attachment.ts'
import type { RunFiles } from './attachments/run-files.ts'
import type { Deadline } from './deadline.ts'
import type { Meter } from './models/meter.ts'
import type { Model } from './models/model-request.ts'
import type { Refusals } from './models/refusing-models.ts'
import { addCosts, addTokens, type Cost, NO_USAGE, tokensSince, type Usage } from './models/usage.ts'
import type { Log, LogEntry, RunEvent } from './outcome.ts'
import type { checkOutput } from './output/check-output.ts'
import type { WantedOutput } from './output/wanted-output.ts'
import type { ModelWindows, Omissions } from './prompt/fit-prompt.ts'
import type { ModelInput } from './run-input.ts'
import { INTERRUPTED, type ModelSpend, PAUSED, type Step, type StepKeeper, type WaitStep } from './steps.ts'
import type { Toolbox } from './tools/toolbox.ts'

/** An active run: its model, its tools, and its results so far. */
export type RunInProgress = {
  request_id: string
  attempt: number
  input: ModelInput
  /** Finds a model of the agent by its name. */
  getModel(name: string): Promise<Model>
  meter: Meter
  /** Until this resolves, only the model may be called. See `RunRequest`. */
  stored: Promise<void> | undefined
  windows: ModelWindows
  /** The attachments of messages, and the files in tools' results. */
  readonly files: RunFiles
  toolbox: Toolbox
  deadline: Deadline
  emit: ((event: RunEvent) => void) | undefined
  log: Log
  /** All log entries, and how many of them the steps so far contain. */
  logs: readonly LogEntry[]
  logged: number
  now: () => number
  /** The wait before the first retry of a provider; later waits are longer. */
  retryDelayMs: number
  /** Set if the run should survive its process. */
  keeper: StepKeeper | undefined
  /** The run in its trace, if there is one. */
  span: Span | undefined
  /** What was left out of the prompt the last time the model was asked. */
  left_out: Omissions | undefined
  /** What the current step has cost so far. */
  step_cost: Cost
  /** Present if the answer must be JSON that fits a schema. */
  output: RunOutput | undefined
  /** The same for a single model call, which has no tools. */
  outputFor(wanted: WantedOutput): RunOutput
  left: RunRecord
}

export type RunOutput = {
  wanted: WantedOutput
  /** Whether the model is asked for JSON from the start, because there are no tools. */
  isAtOnce: boolean
  support: Refusals
  check(answer: string): ReturnType<typeof checkOutput>
  /** The answer that is being written. It isn't part of the response until it is known to fit. */
  draft: string
}

/** The record of a run, filled while the run is active. */
export type RunRecord = {
  response: string
  /** Present if the answer was requested as JSON and fits. */
  output?: { value: unknown }
  /** Present if a model was shown attachments of the message. */
  attachments?: ShownAttachment[]
  usage: Usage
  cost_nano: Cost
  steps: Step[]
}

/** A record that contains what the run's earlier attempts did. */
export function leftBy(kept: readonly Step[]): RunRecord {
  const left: RunRecord = { response: '', usage: NO_USAGE, cost_nano: 0, steps: [...kept] }
  for (const step of kept) {
    if (step.kind === 'model') left.response += step.text
    if ('usage' in step && step.usage) addSpent(left, { usage: step.usage, cost_nano: step.cost_nano ?? null })
  }
  return left
}

export function addSpent(left: RunRecord, { usage, cost_nano }: ModelSpend): void {
  left.usage = addTokens(left.usage, usage)
  left.cost_nano = addCosts(left.cost_nano, cost_nano)
}

/**
 * When a run is paused, the answer that its model was writing is dropped. The run asks for it again when it continues,
 * and this step counts what it has cost so far.
 */
export function pausedStep(left: RunSpending, { attempt, logs, now }: StepEnd): WaitStep {
  return brokenOffStep(PAUSED, left, { attempt, logs, now })
}

/** The same for a service that stops. Undefined if the other steps contain everything that was spent. */
export function interruptedStep(left: RunSpending, end: StepEnd): WaitStep | undefined {
  const step = brokenOffStep(INTERRUPTED, left, end)
  const isCounted = step.usage.input_tokens + step.usage.output_tokens > 0 || step.cost_nano !== 0
  return isCounted ? step : undefined
}

export type RunSpending = Pick<RunRecord, 'steps' | 'usage' | 'cost_nano'>

export type StepEnd = { attempt: number; logs: readonly LogEntry[]; now: number }

function brokenOffStep(reason: string, left: RunSpending, { attempt, logs, now }: StepEnd): WaitStep {
  const logged = left.steps.reduce((sum, step) => sum + step.logs.length, 0)
  const before = leftBy(left.steps)
  const usage = tokensSince(before.usage, left.usage)
  const cost_nano = left.cost_nano === null || before.cost_nano === null ? null : left.cost_nano - before.cost_nano
  const times = { attempt, started_at: now, finished_at: now, logs: logs.slice(logged) }
  return { kind: 'wait', reason, usage, cost_nano, ...times }
}

/** Thrown to end a run that was stopped from outside. The deadline knows the reason. */
export class RunStopped extends Error {}

/**
 * Thrown to leave a run that continues later: at a certain time, or earlier if people have decided what it asks or the
 * budget that it waits for changes.
 */
export class Waits extends Error {
  readonly until: number
  readonly asks: readonly Ask[]
  readonly waits_for: string | undefined

  constructor(until: number, { asks = [], waits_for }: { asks?: readonly Ask[]; waits_for?: string | undefined } = {}) {
    super('the run waits')
    this.until = until
    this.asks = asks
    this.waits_for = waits_for
  }
}

const NO_LOGS: readonly LogEntry[] = []

/** What every step records about itself, including the log entries since the step before. */
export function taken(run: RunInProgress, started_at: number) {
  const { attempt, logs, now } = run
  const since = run.logged
  run.logged = logs.length
  return { attempt, started_at, finished_at: now(), logs: since === logs.length ? NO_LOGS : logs.slice(since) }
}
