import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../lib/log.ts'
import type { Database } from '../database.ts'
import type { Storage } from '../open-storage.ts'
import type { JobHandler } from './job-handler.ts'

/**
 * Rows that may be removed. `remove` deletes some that are older than `before`, about `limit` at most, and returns how
 * many.
 */
export type Sweepable = {
  name: string
  keep_ms: number
  remove(db: Database, before: number, limit: number): Promise<number>
}

type Options = { storage: Storage; now: () => number; log: Logger }

const BATCH_SIZE = 1_000

/**
 * A job that removes old rows in small batches with pauses between them, so that other writers wait for one batch at
 * most.
 */
export function sweep({ storage, now, log }: Options, sweepables: readonly Sweepable[]): JobHandler {
  const removeAll = async ({ keep_ms, remove }: Sweepable, signal: AbortSignal): Promise<number> => {
    const before = now() - keep_ms
    let total = 0
    for (;;) {
      signal.throwIfAborted()
      const started = performance.now()
      const removed = await remove(storage.db, before, BATCH_SIZE)
      if (removed === 0) return total
      total += removed
      await delay(performance.now() - started, undefined, { signal })
    }
  }

  return {
    concurrency: 1,
    async run(_payload, { signal }) {
      const failures: unknown[] = []
      for (const sweepable of sweepables) {
        const { name } = sweepable
        try {
          const removed = await removeAll(sweepable, signal)
          if (removed > 0) log.info({ name, removed }, 'old rows removed')
        } catch (error) {
          signal.throwIfAborted()
          failures.push(error)
        }
      }
      if (failures.length > 0) throw failures[0]
    },
  }
}
