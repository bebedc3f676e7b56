import type { Logger } from '../lib/log.ts'
import type { JobHandler } from '../storage/jobs/job-handler.ts'
import type { Storage } from '../storage/open-storage.ts'
import { findSetting, touch } from '../storage/stored-settings.ts'
import { TERMS_VERSION } from './language/terms.ts'
import { renewTerms } from './upkeep-store.ts'
import { recount } from './warm/scope-counts.ts'

const EVERY_MS = 3_600_000
const AT_ONCE = 200
/** `2` when all memories have the terms of version 2; `2 1234` while only those up to seq 1234 have them. */
const SETTING = 'memory.terms'

/**
 * Recurring. After an upgrade that makes other terms of texts, older memories get the new terms too. The progress is
 * stored with each batch, so that a restart goes on from there.
 */
export function renewMemories({ storage, log }: { storage: Storage; log: Logger }): JobHandler {
  return {
    concurrency: 1,
    every_ms: EVERY_MS,
    async run(_payload, { signal }) {
      const done = String(TERMS_VERSION)
      const [version, seq] = ((await findSetting(storage.db, SETTING)) ?? '').split(' ')
      if (version === done && seq === undefined) return
      let reached: number | undefined = version === done ? Number(seq) : 0
      while (reached !== undefined && !signal.aborted) {
        const after: number = reached
        reached = await storage.transaction(async (db) => {
          const last = await renewTerms(db, after, AT_ONCE)
          if (last !== undefined) {
            await touch(db, SETTING, `${done} ${last}`)
            return last
          }
          // This tells warm scopes that they hold old terms.
          if (after > 0) await recount(db, `+terms ${done} ${after}`)
          await touch(db, SETTING, done)
          return undefined
        })
      }
      if (reached === undefined) log.debug({ version: TERMS_VERSION }, 'memories have the terms of this release')
    },
  }
}
