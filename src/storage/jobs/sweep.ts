import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../lib/log.ts'
import type { Database } from '../database.ts'
import type { Storage } from '../open-storage.ts'
import type { JobHandler } from './job-handler.ts'

/**
 * Rows that can be removed. `remove` deletes about `limit` of the rows that are older than `before`, and returns how
 * many.
 */
export type Sweepable = {
  name: string
  keep_ms: number
  remove(db: Database, before: number, limit: number): Promise<number>
}

type Options = {
  storage: Storage
  now: () => number
  log: Logger
  /** Whether rows may currently exist without the rows that they belong to. Nothing is removed during that time. */
  isHeld?: () => Promise<boolean>
}

/** How many rows one statement removes: the fewest at first, then as many as `BATCH_MS` allows. */
const BATCH = { fewest: 50, most: 1_000 }
/** How long a batch should take. Other writers wait for at most one batch. */
const BATCH_MS = 5
/** Pauses are twice as long as the work, so removing rows takes only a third of the time. */
const PAUSES = 2

/** A job that removes old rows in small batches with pauses between them, so that requests are hardly affected. */
export function sweep({ storage, now, log, isHeld }: Options, sweepables: readonly Sweepable[]): JobHandler {
  const removeAll = async ({ keep_ms, remove }: Sweepable, signal: AbortSignal): Promise<number> => {
    const before = now() - keep_ms
    let total = 0
    let limit = BATCH.fewest
    for (;;) {
      signal.throwIfAborted()
      if (await isHeld?.()) return total
      const started = performance.now()
      const removed = await remove(storage.db, before, limit)
      if (removed === 0) return total
      total += removed
      const tookMs = performance.now() - started
      limit = tookMs > BATCH_MS ? Math.max(BATCH.fewest, limit >> 1) : Math.min(BATCH.most, limit * 2)
      await delay(tookMs * PAUSES, undefined, { signal })
    }
  }

  return {
    async run(signal) {
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
