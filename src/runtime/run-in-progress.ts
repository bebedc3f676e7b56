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
import { type ModelSpend, PAUSED, type Step, type StepKeeper, type WaitStep } from './steps.ts'
import type { Toolbox } from './tools/toolbox.ts'

/** A run in progress: its model, its tools, and what it has left so far. */
export type RunInProgress = {
  request_id: string
  attempt: number
  input: ModelInput
  /** Finds a model of the agent by its name. */
  getModel(name: string): Promise<Model>
  meter: Meter
  /** The model may be asked before, and nothing else: see `RunRequest`. */
  stored: Promise<void> | undefined
  windows: ModelWindows
  /** What is attached to messages and results of tools. */
  readonly files: RunFiles
  toolbox: Toolbox
  deadline: Deadline
  emit: ((event: RunEvent) => void) | undefined
  log: Log
  /** All log entries, and how many of them the steps so far have. */
  logs: readonly LogEntry[]
  logged: number
  now: () => number
  /** How long the first retry of a provider waits; the next ones wait longer. */
  retryDelayMs: number
  /** Set if the run should survive its process. */
  keeper: StepKeeper | undefined
  /** The run in its trace, if there is one. */
  span: Span | undefined
  /** What was left out of the prompt when the model was last asked. */
  left_out: Omissions | undefined
  /** What the step that is being taken has cost so far. */
  step_cost: Cost
  /** Set if the answer is to be JSON that fits a schema. */
  output: RunOutput | undefined
  /** The same for one call of a model that is asked without tools. */
  outputFor(wanted: WantedOutput): RunOutput
  left: RunRecord
}

export type RunOutput = {
  wanted: WantedOutput
  /** There are no tools, so the model is asked for it at once. */
  isAtOnce: boolean
  support: Refusals
  check(answer: string): ReturnType<typeof checkOutput>
  /** The answer that is being given. It is not said before it is known that it fits. */
  draft: string
}

/** The record of a run, filled while the run continues. */
export type RunRecord = {
  response: string
  /** There when the answer was wanted as JSON, and fits. */
  output?: { value: unknown }
  /** There when a model was shown attachments of the message. */
  attachments?: ShownAttachment[]
  usage: Usage
  cost_nano: Cost
  steps: Step[]
}

/** What earlier attempts of the run have left. */
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
 * A run that is paused leaves the answer that its model was giving, and asks for it again when it continues. What that
 * answer has cost so far is counted.
 */
export function pausedStep(
  left: RunRecord,
  { attempt, logs, now }: { attempt: number; logs: readonly LogEntry[]; now: number },
): WaitStep {
  const logged = left.steps.reduce((sum, step) => sum + step.logs.length, 0)
  const before = leftBy(left.steps)
  const usage = tokensSince(before.usage, left.usage)
  const cost_nano = left.cost_nano === null || before.cost_nano === null ? null : left.cost_nano - before.cost_nano
  const times = { attempt, started_at: now, finished_at: now, logs: logs.slice(logged) }
  return { kind: 'wait', reason: PAUSED, usage, cost_nano, ...times }
}

/** Thrown to leave a run that was stopped from outside. The deadline knows the reason. */
export class RunStopped extends Error {}

/**
 * Thrown to leave a run that goes on later: at a time, or before it when people have decided what it asks, or when the
 * budget changes for which it waits.
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
