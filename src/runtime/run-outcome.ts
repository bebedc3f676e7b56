import type { Ask } from './approvals/ask.ts'
import type { ExhaustedBudget } from './models/meter.ts'
import type { Round } from './models/model.ts'
import type { LogEntry } from './outcome.ts'
import type { RunRecord } from './run-in-progress.ts'
import type { SchemaProblem } from './schemas/schema-errors.ts'

/** How a run ended, with its record. `response` is the text so far, even if the run did not complete. */
export type RunOutcome =
  /** `rounds` are there if the model called tools of the caller, whose results it waits for. */
  (
    | { status: 'completed'; rounds?: Round[] }
    | { status: 'failed'; reason: 'error' | 'timeout' | 'too long' | 'no room'; message: string }
    /** The provider of the model has too much to do. */
    | { status: 'failed'; reason: 'busy'; message: string; after_ms: number | undefined }
    /** A budget has no room for the next call. `until` is when it has again, if that is known. */
    | { status: 'failed'; reason: 'over budget'; message: string; until: number | undefined; budget: ExhaustedBudget }
    /** No answer fits what was wanted. */
    | { status: 'failed'; reason: 'unfit'; message: string; problems: readonly SchemaProblem[] }
    | { status: 'cancelled' }
    /**
     * The run goes on after its stored steps, at `until` at the latest: before, when people have decided what it asks, or
     * when the budget `waits_for` names has changed.
     */
    | { status: 'waiting'; until: number; asks: readonly Ask[]; waits_for: string | undefined }
  ) &
    RunRecord & { logs: LogEntry[] }
