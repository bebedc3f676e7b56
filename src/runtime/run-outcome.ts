import type { Ask } from './approvals/ask.ts'
import type { ExhaustedBudget } from './models/meter.ts'
import type { Round } from './models/model.ts'
import type { LogEntry } from './outcome.ts'
import type { RunRecord } from './run-in-progress.ts'
import type { SchemaProblem } from './schemas/schema-errors.ts'

/** How a run ended, with its record. `response` is the text so far, even if the run didn't complete. */
export type RunOutcome =
  /** `rounds` are present if the model called the caller's own tools and waits for their results. */
  (
    | { status: 'completed'; rounds?: Round[] }
    | { status: 'failed'; reason: 'error' | 'timeout' | 'too long' | 'no room'; message: string }
    /** The model's provider is overloaded. */
    | { status: 'failed'; reason: 'busy'; message: string; after_ms: number | undefined }
    /** A budget has no room for the next call. `until` is when it has room again, if known. */
    | { status: 'failed'; reason: 'over budget'; message: string; until: number | undefined; budget: ExhaustedBudget }
    /** No answer fit the requested form. */
    | { status: 'failed'; reason: 'unfit'; message: string; problems: readonly SchemaProblem[] }
    | { status: 'cancelled' }
    /**
     * The run continues after its stored steps: at `until`, or earlier if people have decided what it asks or the
     * budget in `waits_for` has changed.
     */
    | { status: 'waiting'; until: number; asks: readonly Ask[]; waits_for: string | undefined }
  ) &
    RunRecord & { logs: LogEntry[] }
