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

/** The input of a run, and who receives its events. */
export type RunRequest = RunInput & {
  request_id: string
  /** The project whose providers and secrets the run can use. */
  project_id: string
  /** The project's providers, if loaded: their keys are removed from logs and errors. */
  providers?: readonly Provider[] | undefined
  /** The agent on whose behalf tools are called. */
  agent_id: string
  /** Who requested it: the maker of what its tools create. */
  created_by: string
  /** What its environment served when it was admitted: nulls for the draft. Undefined if no agent's run asks. */
  served?: { version: string | null; deployment_id: string | null } | undefined
  /** How often the run has started, including this time. */
  attempt: number
  /** Counts what the run spends. */
  meter: Meter
  /**
   * Until this resolves, nothing leaves the service except requests to models. It rejects if the run couldn't be
   * stored.
   */
  stored?: Promise<void> | undefined
  /** Stores the run's steps, so that it survives its process. The run continues after the stored ones. */
  keeper?: StepKeeper | undefined
  /** What memory found, if this attempt has searched it. */
  recall?: RecallStep | undefined
  /** The run in its trace, if it has one. */
  span?: Span | undefined
  /** Its place among runs that call each other. Undefined if it can't call another. */
  tree?: RunTree | undefined
  cancellation: Cancellation
  emit?: ((event: RunEvent) => void) | undefined
}

/** Searches memory for an attempt. When the signal aborts, it stops waiting. */
export type RecallForRun = (
  signal: AbortSignal,
) => Promise<Pick<RunRequest, 'history' | 'summary' | 'recalled' | 'recall'>>

/** What a run shares with its caller, and with the runs that it calls. */
export type RunTree = {
  isChild: boolean
  /** When their time is over; null if this attempt has its agent's full time limit. */
  deadline_at: number | null
  /** The agent whose memory it uses; null if none. */
  memory_of: string | null
  /** Asks another agent. `deadline_at` is when this run's time is over. */
  askAgent(tool: AgentTool, asked: Parameters<AskAgent>[1] & { deadline_at: number }): ReturnType<AskAgent>
}

/** What the service gives a run, whatever kind of agent it has. */
export type RunHost = {
  now(): number
  deadline: Deadline
  /** Secrets that the runner hides don't get into the log. */
  log: Log
  /** All log entries, and how many of them the steps of earlier attempts contain. */
  logs: readonly LogEntry[]
  logged: number
  /** What the run has said, spent and done so far, including earlier attempts. The runner adds to it. */
  left: RunRecord
  /** From now on, this removes secrets from the log and from the errors that callers see. */
  hide(redact: Redact): void
}

/** The agent has answered. What it said, spent and did is in `left`. */
export type RunAnswer = { status: 'completed'; rounds?: Round[] }

/**
 * Answers the messages of one kind of agent. `run` resolves when the agent has answered. It throws an AgentFailure if
 * the agent can't answer, Waits if the run continues later, and Stopped when the deadline or a cancellation ended it.
 */
export type Runner = {
  run(request: RunRequest, host: RunHost): Promise<RunAnswer>
}
