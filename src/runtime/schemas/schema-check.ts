import { CheckThread } from './check-thread.ts'
import type { CheckAnswer } from './schema-check-worker.ts'

/** Most checks take less than a millisecond. */
const QUICK_MS = 200
/** How long a caller waits, unless it says otherwise. */
const DEADLINE_MS = 5_000
const SLOW_MS = 1_000
const MAX_SLOW_SCHEMAS = 1_000

/**
 * Checks values against JSON Schemas, in full and outside the event loop. Schemas and values come from strangers, and a
 * check may run for ever: `pattern` may backtrack without end. So every check has a deadline.
 */
export class SchemaCheck {
  readonly #quick = new CheckThread()
  /** Schemas that once took long have a thread of their own, so that others do not wait for them. */
  readonly #slow = new CheckThread()
  readonly #slowSchemas = new Set<string>()

  /** `name` stands for the value in errors. What cannot be decided in time, or by this schema at all, is undecided. */
  async check(schema: object, value: unknown, name: string, deadlineMs = DEADLINE_MS): Promise<CheckAnswer> {
    const until = performance.now() + deadlineMs
    const request = { schema: JSON.stringify(schema), value: JSON.stringify(value), name }
    if (!this.#slowSchemas.has(request.schema)) {
      const answer = await this.#quick.check(request, { runMs: QUICK_MS, waitMs: deadlineMs })
      if (answer.outcome !== 'undecided' || answer.why !== 'time' || performance.now() >= until) return answer
      if (this.#slowSchemas.size >= MAX_SLOW_SCHEMAS) this.#slowSchemas.clear()
      this.#slowSchemas.add(request.schema)
    }
    return this.#slow.check(request, { runMs: SLOW_MS, waitMs: until - performance.now() })
  }

  async close(): Promise<void> {
    await Promise.all([this.#quick.close(), this.#slow.close()])
  }
}
