import { setTimeout as delay } from 'node:timers/promises'

/** Resolves as soon as `isSo` says yes; fails when it does not within `withinMs`. */
export async function eventually(
  what: string,
  isSo: () => Promise<boolean> | boolean,
  withinMs = 5_000,
): Promise<void> {
  const deadline = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`)
    await delay(5)
  }
}
