import type { Errands } from '../lib/work/errands.ts'
import type { Parts, StoreSizes } from '../operation/parts.ts'
import type { JobHandler } from '../storage/jobs/job-handler.ts'
import { findKeptSizes, isSmallStore, keepSizes, measureStore } from './store.ts'

/**
 * The sizes of a large store are shown for this time. Then they are counted again, while clients see the previous ones.
 */
const KEPT_MS = 60_000
/** How old the sizes can be when the first client asks. */
const EVERY_MS = 3_600_000

type SizeParts = Pick<Parts, 'storage' | 'now'>

/**
 * The number of rows in the store. Counting takes longer the more rows there are. A small store is counted for each
 * request. For a large one, every node shows the latest count, and no request waits for a new one.
 */
export function openSizes({ storage, now }: SizeParts, errands: Errands): () => Promise<StoreSizes> {
  let isMeasuring = false
  const measureAgain = () => {
    if (isMeasuring) return
    isMeasuring = true
    errands.begin('measuring the database', (signal) =>
      measureAndKeep({ storage, now }, signal).finally(() => (isMeasuring = false)),
    )
  }
  return async () => {
    const kept = (await isSmallStore(storage.db)) ? undefined : await findKeptSizes(storage.db)
    if (!kept) return measureStore(storage.db, now())
    if (now() - kept.measured_at >= KEPT_MS) measureAgain()
    return kept
  }
}

/** A recurring job. It first runs in an empty store, so a store that has grown large has been measured before. */
export function measureStoreSizes(parts: SizeParts): JobHandler {
  return { every_ms: EVERY_MS, run: (signal) => measureAndKeep(parts, signal) }
}

async function measureAndKeep({ storage, now }: SizeParts, signal: AbortSignal): Promise<void> {
  await keepSizes(storage.db, await measureStore(storage.db, now(), signal))
}
