import { setTimeout as sleep } from 'node:timers/promises'
import { MoorageError } from '../../../sdk/errors.ts'
import { isPassing } from '../../../sdk/request.ts'
import { note } from '../terminal/output.ts'
import type { World } from '../world.ts'

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 15_000

/**
 * Does work that a command repeats until Ctrl-C. If the service is unavailable, says so, waits, and says when it is
 * back.
 */
export async function patiently<T>(world: World, work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      const result = await work()
      if (tries > 0) note(world, 'The service is available again.', 'dim')
      return result
    } catch (error) {
      if (!(error instanceof MoorageError && isPassing(error))) throw error
      if (tries === 0) note(world, `${error.message}: retrying`, 'dim')
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS)
      await sleep(Math.max(pauseMs, (error.retry_after ?? 0) * 1000), undefined, { signal: world.signal })
    }
  }
}
