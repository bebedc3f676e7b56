import { setTimeout as delay } from 'node:timers/promises'
import { PATIENCE } from './patience.ts'

/** Whatever a service does, it does within a few seconds. */
const WITHIN_MS = 5_000

/** What `look` finds, asked again and again until it is there. Fails with what was waited for. */
export async function until<T>(what: string, look: () => T | Promise<T>, within = WITHIN_MS): Promise<NonNullable<T>> {
  const deadline = performance.now() + within * PATIENCE
  for (;;) {
    const found = await look()
    if (found) return found
    if (performance.now() > deadline) throw new Error(`${what} did not come about within ${within} ms`)
    await delay(5)
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
