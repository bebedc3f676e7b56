import type { Ruling } from './approvals/ask.ts'
import type { ModelAnswer } from './models/model.ts'
import type { Cost, TokenCount } from './models/usage.ts'
import type { LogEntry, ToolStep } from './outcome.ts'
import type { Omissions } from './prompt/fit-prompt.ts'
import type { SchemaProblem } from './schemas/schema-errors.ts'

/** What every step has: its attempt, its times and its log entries. */
type StepTimes = { attempt: number; started_at: number; finished_at: number; logs: readonly LogEntry[] }

/** The usage and cost of model calls, including failed ones. */
export type ModelSpend = { usage: TokenCount; cost_nano: Cost }

/**
 * Memory was searched before the model was asked. The step only names what was found, because the texts are in memory.
 */
export type RecallStep = StepTimes & { kind: 'recall' } & RecalledNames

export type RecalledNames = {
  /** The turns of the session that form the history, by their seqs in memory, oldest first. */
  turns: readonly number[]
  /** What was recalled, best first. */
  memories: readonly { seq: number; score: number }[]
  /** When the session's summary was written, if it has one. */
  summarized_at: number | null
}

/** A model that was asked before the one that answered, and why it couldn't answer. */
export type PassedOver = { model: string; error: string }

/**
 * The model was asked. `text` is what it added to the response. `left_out` is present if the whole prompt would have
 * been too long.
 */
export type ModelStep = StepTimes &
  ModelSpend & {
    kind: 'model'
    answer: ModelAnswer
    /** Which of the agent's models answered. */
    model: string
    passed_over?: PassedOver[]
    text: string
    left_out?: Omissions
    unfit?: Unfit
  }

/** An answer that doesn't have the requested form. It isn't part of the response. */
export type Unfit = {
  text: string
  problems: readonly SchemaProblem[]
  /** Whether the model was asked for JSON. If not, it answered in words after calling the tools that it needed. */
  asked: boolean
  /** Set if asking again would be useless. */
  isFinal?: true
}

/**
 * A tool was called. `index` is the position of the call in the answer that requested it. Its usage is present if the
 * tool asked a model. `below` is the usage of another agent's run and the runs that it called. Those runs have their
 * own receipts; it is counted here only for this run's limits.
 */
export type ToolCallStep = StepTimes &
  Partial<ModelSpend> & { kind: 'tool'; index: number; call: ToolStep; below?: ModelSpend }

/**
 * The run waited until a time, until its project was resumed, or until the budget in `waits_for` changed. During that
 * time no process ran it. `finished_at` is when it would continue at the latest.
 */
export type WaitStep = StepTimes & ModelSpend & { kind: 'wait'; reason: string; waits_for?: string }

/** The reason of a wait that ends when the project is resumed. */
export const PAUSED = 'Paused'

/**
 * The reason of a wait for another node or the next start. Tools may have been called, and their results are missing.
 */
export const INTERRUPTED = 'The service stopped'

/** A person was asked about a call, and has decided. `attempt` is the attempt that asked. */
export type ApprovalStep = StepTimes & { kind: 'approval'; index: number; decided: Ruling }

/** One thing that a run has done. Steps are plain values, in the order in which they ended. */
export type Step = RecallStep | ModelStep | ToolCallStep | WaitStep | ApprovalStep

/**
 * Stores what a run has done, so that another process can continue after it. Without a keeper, a run ends when its
 * process dies. Whatever executes durable runs implements this interface.
 */
export type StepKeeper = {
  readonly kept: readonly Step[]
  /** Whether the run can leave its process and continue later, because no client waits for its answer. */
  readonly mayWait: boolean
  /** Whether the run waits if a budget has no room, instead of failing. */
  readonly waitsForBudgets: boolean
  /**
   * Receives all steps of the run so far, including those of earlier attempts. Resolves when they are on disk, in this
   * order and in the order of the calls. Rejects with StepNotKept.
   */
  keep(steps: readonly Step[]): Promise<void>
}

/**
 * The run can't continue in this process, because a step couldn't be stored or another process has the run. The agent
 * didn't fail.
 */
export class StepNotKept extends Error {}

/** The prefix for the steps that remote agents request of their host. No tool of an agent can have such a name. */
export const HOST_STEP = 'step.'
export const ASK_PERSON = `${HOST_STEP}ask_person`
