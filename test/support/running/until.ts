import { setTimeout as delay } from 'node:timers/promises'
import { PATIENCE } from './patience.ts'

/** Whatever a service does, it does within a second or two, and within this on a machine that stands still now and then. */
const WITHIN_MS = 120_000

/** What `look` finds, asked again and again until it is there. Fails with what was waited for. */
export async function until<T>(what: string, look: () => T | Promise<T>, within = WITHIN_MS): Promise<NonNullable<T>> {
  const deadline = performance.now() + within * PATIENCE
  for (;;) {
    const asked = performance.now()
    const found = await look()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${within} ms`)
    await delay(pauseAfter(asked))
  }
}

/** As long as looking took: on a slow machine looking must not take the time from what is looked for. */
function pauseAfter(asked: number): number {
  return Math.max(5, performance.now() - asked)
}

/** Waits until `count` has come to `goal`. Much work may take its time, as long as it continues: a standstill fails. */
export async function untilCounted(what: string, goal: number, count: () => number | Promise<number>): Promise<void> {
  let asked = performance.now()
  let reached = await count()
  let deadline = performance.now() + WITHIN_MS * PATIENCE
  while (reached < goal) {
    await delay(pauseAfter(asked))
    asked = performance.now()
    const next = await count()
    if (next !== reached) deadline = performance.now() + WITHIN_MS * PATIENCE
    reached = next
    if (performance.now() > deadline) throw new Error(`${what}: stuck at ${reached} of ${goal}`)
  }
}

/** Tries an assertion until it holds; at the end its own failure is the test's. */
export async function untilHolds<T>(check: () => T | Promise<T>, within = WITHIN_MS): Promise<T> {
  const deadline = performance.now() + within * PATIENCE
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    await delay(20)
  }
}
