import type { Embedder } from '../runtime/models/embedder.ts'
import type { Storage } from '../storage/database.ts'
import type { JobHandler } from '../storage/run-jobs.ts'
import { insertVectors, listUnembedded } from './vectors.ts'

type Options = { storage: Storage; now: () => number }

const EVERY_MS = 5_000
const SCANNED = 200
const EMBEDDED_AT_ONCE = 16
/** Rows can be committed out of order, and so appear behind where a pass has got to. */
const OVERLAP = 2_000
const FULL_PASS_MS = 3_600_000

/**
 * Recurring: gives every memory that has none a vector of the present model. What is missing is read off the memories
 * themselves, so nothing is lost by a crash, and a new embedder catches up with all that was remembered before it.
 */
export function embedMemories(embedder: Embedder, { storage, now }: Options): JobHandler {
  let reached = 0
  let fullPassAt = now()

  return {
    concurrency: 1,
    lease_ms: 60_000,
    every_ms: EVERY_MS,
    async run(_payload, { signal }) {
      if (now() - fullPassAt >= FULL_PASS_MS) {
        reached = 0
        fullPassAt = now()
      }
      let after = Math.max(0, reached - OVERLAP)
      while (!signal.aborted) {
        const { last, missing } = await listUnembedded(storage.db, embedder.model, after, SCANNED)
        if (last === undefined) return
        for (let i = 0; i < missing.length && !signal.aborted; i += EMBEDDED_AT_ONCE) {
          const batch = missing.slice(i, i + EMBEDDED_AT_ONCE)
          const vectors = await embedder.embed(
            batch.map(({ content }) => content),
            signal,
          )
          const rows = batch.flatMap(({ seq }, j) => (vectors[j] ? { seq, values: vectors[j] } : []))
          await storage.transaction((db) => insertVectors(db, embedder.model, rows))
        }
        after = last
        reached = Math.max(reached, last)
      }
    },
  }
}
