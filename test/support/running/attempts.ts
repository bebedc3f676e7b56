import assert from 'node:assert/strict'

const ATTEMPTS = 4

/**
 * For checks of something that must happen in time. On a busy machine, a process may be suspended for seconds, so it
 * happens late. If one of a few attempts succeeds, it can be done in time. A real defect fails in all of them.
 */
export async function inOneAttempt(check: (attempt: number) => void | Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await check(attempt)
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
    }
  }
}

/**
 * Runs a story that returns how long something took. It runs again only if that was more than `ms`. Any other failure
 * counts immediately.
 */
export async function inTime(ms: number, story: () => Promise<number>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const took = await story()
    if (took < ms) return
    assert.ok(attempt < ATTEMPTS, `it took ${took} ms`)
  }
}
