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
import type { RecordedTools } from './tools/recorded-tools.ts'
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
  /** Who started the run. Files that its tools create belong to this actor. */
  created_by: string
  /**
   * What the environment served when the run was admitted, with nulls for the draft. Undefined if this isn't an agent's
   * run.
   */
  served?: { version: string | null; deployment_id: string | null } | undefined
  /** How often the run has started, including this time. */
  attempt: number
  /** Counts what the run spends. */
  meter: Meter
  /**
   * Until this resolves, nothing leaves the service except requests to models. Rejects if the run couldn't be stored.
   */
  stored?: Promise<void> | undefined
  /** Stores the run's steps so that the run survives its process. It continues after the stored steps. */
  keeper?: StepKeeper | undefined
  /** What memory found, if this attempt has searched it. */
  recall?: RecallStep | undefined
  /** The run in its trace, if it has one. */
  span?: Span | undefined
  /** The run's place in a tree of runs. Undefined if it can't call another run. */
  tree?: RunTree | undefined
  /** The run repeats an earlier one: it calls no tool, and results come from that run's record. */
  recorded?: RecordedTools | undefined
  cancellation: Cancellation
  emit?: ((event: RunEvent) => void) | undefined
}

/** Searches memory for an attempt. It stops waiting when the signal aborts. */
export type RecallForRun = (
  signal: AbortSignal,
) => Promise<Pick<RunRequest, 'history' | 'summary' | 'recalled' | 'recall'>>

/** What a run shares with its caller and with the runs that it calls. */
export type RunTree = {
  isChild: boolean
  /** When the time that these runs share is over. Null if this attempt has its agent's full time limit. */
  deadline_at: number | null
  /** The agent whose memory the run uses, or null. */
  memory_of: string | null
  /** Asks another agent. `deadline_at` is when this run's time is over. */
  askAgent(tool: AgentTool, asked: Parameters<AskAgent>[1] & { deadline_at: number }): ReturnType<AskAgent>
}

/** What the service provides to a run of any kind of agent. */
export type RunHost = {
  now(): number
  deadline: Deadline
  /** The run's log. Secrets that the runner hides don't get into it. */
  log: Log
  /** All log entries, and how many of them the steps of earlier attempts contain. */
  logs: readonly LogEntry[]
  logged: number
  /** What the run has said, spent and done so far, including in earlier attempts. The runner adds to it. */
  left: RunRecord
  /** From now on, removes secrets from the log and from the errors that callers see. */
  hide(redact: Redact): void
}

/** The agent has answered. The record `left` contains what it said, spent and did. */
export type RunAnswer = { status: 'completed'; rounds?: Round[] }

/**
 * Answers the messages of one kind of agent. `run` resolves when the agent has answered. It throws an AgentFailure if
 * the agent can't answer, `Waits` if the run continues later, and `RunStopped` if the deadline or a cancellation ended
 * it.
 */
export type Runner = {
  run(request: RunRequest, host: RunHost): Promise<RunAnswer>
}
