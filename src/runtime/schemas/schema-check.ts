import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { CheckThread } from './check-thread.ts'
import type { CheckAnswer } from './schema-check-worker.ts'

/** Most checks take less than a millisecond. */
const QUICK_MS = 200
const SLOW_MS = 1_000
/** A large schema takes half a second to compile, longer on a busy machine. */
const REVIEW_MS = 5_000
/** How long a caller waits in total, unless it sets a limit: on a busy machine, a check may wait before it starts. */
const DEADLINE_MS = 15_000
const KEPT_SCHEMAS = 1_000
/** How long a lane's unknown schemas start in the slow thread after one of its schemas took long. */
const DISTRUST_MS = 60_000
const KEPT_LANES = 1_000

/** Regular expressions may backtrack endlessly. */
const HAS_PATTERN = /"pattern(Properties)?":/

/** `lane` is the lane of the schema's owner. Projects take turns, and so do the lanes of a project (`lane-key.ts`). */
type SchemaCheckOptions = { lane: string; deadlineMs?: number }

/**
 * Checks values against JSON Schemas, completely and outside the event loop. Clients send both, and a check may run
 * forever because `pattern` can backtrack endlessly, so every check has a deadline.
 */
export class SchemaCheck {
  readonly #quick = new CheckThread()
  /** A thread for schemas that once took long, or may do so, so that other schemas don't wait for them. */
  readonly #slow = new CheckThread()
  /** A thread for reviews, because people wait for them and checks of runs must not delay them. */
  readonly #reviews = new CheckThread()
  /** Which schemas are quick and which are slow, by the hashes of their texts. */
  readonly #speeds = new LRUCache<string, 'quick' | 'slow'>({ max: KEPT_SCHEMAS })
  /** What is wrong with schemas, by the hashes of their texts. */
  readonly #reviewed = new LRUCache<string, CheckAnswer>({ max: KEPT_SCHEMAS })
  /** Until when a lane is distrusted. */
  readonly #distrusted = new LRUCache<string, number>({ max: KEPT_LANES })
  #isClosed = false

  /** Checks a schema itself, once. */
  async review(schema: object, { lane, deadlineMs = DEADLINE_MS }: SchemaCheckOptions): Promise<CheckAnswer> {
    const request = { schema: JSON.stringify(schema) }
    const id = hash('sha256', request.schema, 'base64')
    const known = this.#reviewed.get(id)
    if (known) return known
    const { answer } = await this.#reviews.check(lane, request, { runMs: REVIEW_MS, waitMs: deadlineMs })
    if (answer.outcome !== 'undecided') this.#reviewed.set(id, answer)
    return answer
  }

  /** Checks a value. The result is undecided if the check can't end in time, or not at all with this schema. */
  async check(
    schema: object,
    value: unknown,
    { lane, deadlineMs = DEADLINE_MS }: SchemaCheckOptions,
  ): Promise<CheckAnswer> {
    const until = performance.now() + deadlineMs
    const request = { schema: JSON.stringify(schema), value: JSON.stringify(value) }
    const id = hash('sha256', request.schema, 'base64')
    if ((this.#speeds.get(id) ?? this.#guess(request.schema, lane)) === 'quick') {
      const { answer, ran_ms } = await this.#quick.check(lane, request, { runMs: QUICK_MS, waitMs: deadlineMs })
      if (!isLate(answer)) return answer
      // If the thread never started the check, its schema isn't to blame.
      if (ran_ms > 0) {
        this.#speeds.set(id, 'slow')
        this.#distrusted.set(lane, performance.now() + DISTRUST_MS)
      }
      if (performance.now() >= until || this.#isClosed) return answer
    }
    const patience = { runMs: SLOW_MS, waitMs: until - performance.now() }
    const { answer, ran_ms } = await this.#slow.check(lane, request, patience)
    if (ran_ms >= QUICK_MS) this.#speeds.set(id, 'slow')
    else if (!isLate(answer) && !this.#speeds.has(id)) this.#speeds.set(id, 'quick')
    return answer
  }

  /** Waiting checks become undecided immediately. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#quick.close(), this.#slow.close(), this.#reviews.close()])
  }

  /** Which thread tries an unknown schema first. */
  #guess(schema: string, lane: string): 'quick' | 'slow' {
    const isDistrusted = (this.#distrusted.get(lane) ?? 0) > performance.now()
    return isDistrusted || HAS_PATTERN.test(schema) ? 'slow' : 'quick'
  }
}

function isLate(answer: CheckAnswer): boolean {
  return answer.outcome === 'undecided' && answer.why === 'time'
}
