import type { Span } from '../telemetry/tracing.ts'
import type { Cancellation, Deadline } from './deadline.ts'
import type { Meter } from './models/meter.ts'
import type { Round } from './models/model.ts'
import type { Log, LogEntry, RunEvent } from './outcome.ts'
import type { Provider } from './providers/provider-source.ts'
import type { RunRecord } from './run-in-progress.ts'
import type { RunInput } from './run-input.ts'
import type { RecallStep, StepKeeper } from './steps.ts'
import type { AgentTool } from './tools/called-agent.ts'
import type { Redact } from './tools/fill-secrets.ts'
import type { AskAgent } from './tools/tool.ts'

/** The input of a run, and who gets its events. */
export type RunRequest = RunInput & {
  request_id: string
  /** The project whose providers and secrets the run may use. */
  project_id: string
  /** Those of the project, where they are at hand: their keys are removed from logs and errors. */
  providers?: readonly Provider[] | undefined
  /** The agent on whose behalf tools are called. */
  agent_id: string
  /** Who asked for it: the maker of what its tools leave. */
  created_by: string
  /** How often the run has begun, including this time. */
  attempt: number
  /** Counts what the run spends. */
  meter: Meter
  /** Until this resolves, nothing leaves the service except what models are asked. It rejects if the run could not be stored. */
  stored?: Promise<void> | undefined
  /** Stores the run's steps, so that it survives its process. The run continues after the stored ones. */
  keeper?: StepKeeper | undefined
  /** What memory found, if this attempt has asked it. */
  recall?: RecallStep | undefined
  /** The run in its trace, if there is one. */
  span?: Span | undefined
  /** Its place among runs that call each other. Undefined if it cannot call another. */
  tree?: RunTree | undefined
  cancellation: Cancellation
  emit?: ((event: RunEvent) => void) | undefined
}

/** Finds what memory has for an attempt. When the signal aborts, it waits for nothing any more. */
export type RecallForRun = (
  signal: AbortSignal,
) => Promise<Pick<RunRequest, 'history' | 'summary' | 'recalled' | 'recall'>>

/** What a run shares with the one that called it, and with those that it calls. */
export type RunTree = {
  isChild: boolean
  /** When their time is over; null if this attempt has the whole time of its agent. */
  deadline_at: number | null
  /** The agent whose memory it uses; null if it uses none. */
  memory_of: string | null
  /** Asks another agent. `deadline_at` is when the time of this run is over. */
  askAgent(tool: AgentTool, asked: Parameters<AskAgent>[1] & { deadline_at: number }): ReturnType<AskAgent>
}

/** What the service gives a run, whatever kind its agent is. */
export type RunHost = {
  now(): number
  deadline: Deadline
  /** Secrets that the runner hides do not get into the log. */
  log: Log
  /** All log entries, and how many of them the steps of earlier attempts have. */
  logs: readonly LogEntry[]
  logged: number
  /** What the run has said, spent and done so far, that of earlier attempts included. The runner adds to it. */
  left: RunRecord
  /** From now on this removes secrets from the log and from what callers learn of a failure. */
  hide(redact: Redact): void
}

/** The agent has answered. What it said, spent and did is in `left`. */
export type RunAnswer = { status: 'completed'; rounds?: Round[] }

/**
 * What answers the messages of one kind of agent. `run` resolves when the agent has answered. It throws an AgentFailure
 * if the agent cannot answer, Waits if the run goes on later, and Stopped when the deadline or a cancellation ended it.
 */
export type Runner = {
  run(request: RunRequest, host: RunHost): Promise<RunAnswer>
}
