import { setTimeout as delay } from 'node:timers/promises'
import { PATIENCE } from './patience.ts'

/** A service does everything within a second or two, or within this time on a machine that is sometimes suspended. */
const WITHIN_MS = 120_000

/** Calls `look` until it finds something, and returns that. Fails with what was waited for. */
export async function until<T>(what: string, look: () => T | Promise<T>, within = WITHIN_MS): Promise<NonNullable<T>> {
  const began = performance.now()
  const deadline = began + within * PATIENCE
  for (;;) {
    const asked = performance.now()
    const found = await look()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${within} ms`)
    await delay(pauseAfter(began, asked))
  }
}

const LEAST_PAUSE_MS = 5
const MOST_PAUSE_MS = 100
/** The share of the time waited so far that the next pause adds to it. */
const PAUSE_SHARE = 0.1

/**
 * Pauses as long as looking took, because on a slow machine looking must not take the time from the work. What takes
 * long is looked at less often: a pause may end a tenth too late, and a request every 5 ms costs more than most tests.
 */
function pauseAfter(began: number, asked: number): number {
  const now = performance.now()
  const share = Math.min(MOST_PAUSE_MS, (now - began) * PAUSE_SHARE)
  return Math.max(LEAST_PAUSE_MS, now - asked, share)
}

/** Waits until `count` has reached `goal`. Much work may take long as long as it makes progress. Fails if it stops. */
export async function untilCounted(what: string, goal: number, count: () => number | Promise<number>): Promise<void> {
  let began = performance.now()
  let asked = began
  let reached = await count()
  let deadline = performance.now() + WITHIN_MS * PATIENCE
  while (reached < goal) {
    await delay(pauseAfter(began, asked))
    asked = performance.now()
    const next = await count()
    if (next !== reached) {
      began = asked
      deadline = performance.now() + WITHIN_MS * PATIENCE
    }
    reached = next
    if (performance.now() > deadline) throw new Error(`${what}: stuck at ${reached} of ${goal}`)
  }
}

/** Tries an assertion until it holds. In the end, its own failure is the test's. */
export async function untilHolds<T>(check: () => T | Promise<T>, within = WITHIN_MS): Promise<T> {
  const began = performance.now()
  const deadline = began + within * PATIENCE
  for (;;) {
    const asked = performance.now()
    try {
      return await check()
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    await delay(Math.max(20, pauseAfter(began, asked)))
  }
}
