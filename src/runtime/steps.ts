import type { Ruling } from './approvals/ask.ts'
import type { ModelAnswer } from './models/model.ts'
import type { Cost, TokenCount } from './models/usage.ts'
import type { LogEntry, ToolStep } from './outcome.ts'
import type { Omissions } from './prompt/fit-prompt.ts'
import type { SchemaProblem } from './schemas/schema-errors.ts'

/** What every step has: its attempt, its times and its log entries. */
type StepTimes = { attempt: number; started_at: number; finished_at: number; logs: readonly LogEntry[] }

/** What calls of models have used and cost, also those that failed. */
export type ModelSpend = { usage: TokenCount; cost_nano: Cost }

/** Memory was asked before the model was. The step names what was found and has no texts: memory has them. */
export type RecallStep = StepTimes & { kind: 'recall' } & RecalledNames

export type RecalledNames = {
  /** The turns of the session that are its history, by their seqs in memory, oldest first. */
  turns: readonly number[]
  /** What was recalled, best first. */
  memories: readonly { seq: number; score: number }[]
  /** When the summary of the session was written, if there was one. */
  summarized_at: number | null
}

/** A model that was asked before the one that answered, and why it did not answer. */
export type PassedOver = { model: string; error: string }

/**
 * The model was asked. `text` is what it added to the response. `left_out` is there if the prompt would have been too
 * long.
 */
export type ModelStep = StepTimes &
  ModelSpend & {
    kind: 'model'
    answer: ModelAnswer
    /** The one that answered, of the agent's models. */
    model: string
    passed_over?: PassedOver[]
    text: string
    left_out?: Omissions
    unfit?: Unfit
  }

/** An answer that does not fit what is wanted. It is no part of the response. */
export type Unfit = {
  text: string
  problems: readonly SchemaProblem[]
  /** The model was asked for JSON. Else it has answered in words, after it had called the tools that it needed. */
  asked: boolean
  /** It makes no sense to ask again. */
  isFinal?: true
}

/**
 * A tool was called. `index` is the position of the call in the answer that asked for it. What it has used is there if it
 * asked a model. `below` is what the run of another agent has used, with those that it called: they have receipts of their
 * own, and here it counts for the limits of the run only.
 */
export type ToolCallStep = StepTimes &
  Partial<ModelSpend> & { kind: 'tool'; index: number; call: ToolStep; below?: ModelSpend }

/**
 * The run waited until a time, until its project was resumed, or until the budget changed that `waits_for` names. No
 * process held it meanwhile. `finished_at` is when it was to continue at the latest.
 */
export type WaitStep = StepTimes & ModelSpend & { kind: 'wait'; reason: string; waits_for?: string }

/** The reason of a wait that a resume has ended. */
export const PAUSED = 'Paused'

/** A person was asked about a call, and has decided. The attempt is the one that asked. */
export type ApprovalStep = StepTimes & { kind: 'approval'; index: number; decided: Ruling }

/** One thing that a run has done. Steps are plain values, in the order in which they ended. */
export type Step = RecallStep | ModelStep | ToolCallStep | WaitStep | ApprovalStep

/**
 * Stores what a run has done, so that another process can continue after it. Without one, a run ends when its process
 * dies. It is the interface for whatever executes runs durably: it gives the steps of earlier attempts, and stores new
 * ones.
 */
export type StepKeeper = {
  readonly kept: readonly Step[]
  /** Whether the run may leave its process and continue later, because no client waits for its answer. */
  readonly mayWait: boolean
  /** Whether it waits for budgets that have no room, instead of failing. */
  readonly waitsForBudgets: boolean
  /**
   * Gets all steps of the run so far, including those of earlier attempts. Resolves once they are on disk, in this
   * order, and in the order of the calls. Rejects with StepNotKept.
   */
  keep(steps: readonly Step[]): Promise<void>
}

/**
 * The run cannot go on here, because a step could not be stored or another process has the run. It is not the agent's
 * failure.
 */
export class StepNotKept extends Error {}
