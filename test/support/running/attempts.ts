import assert from 'node:assert/strict'

const ATTEMPTS = 4

/**
 * For what has to come in time: on a busy machine a process may stand still for seconds, and then it comes late. What
 * holds in one of a few attempts can be done in time; what is wrong fails in all of them.
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
 * Tells a story that returns how long something took. It is told again only if that was more than `ms`; whatever else is
 * wrong fails at once.
 */
export async function inTime(ms: number, story: () => Promise<number>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const took = await story()
    if (took < ms) return
    assert.ok(attempt < ATTEMPTS, `it took ${took} ms`)
  }
}
