import { sql } from 'kysely'
import type { JobHandler } from '../storage/jobs/job-handler.ts'
import type { Storage } from '../storage/open-storage.ts'
import { indexWaiting } from './full-text/fts5.ts'

const EVERY_MS = 600_000
/** Agents with more memories than this are likely to be searched with the index. */
const LARGE = 100_000

/** A recurring job that keeps SQLite's index up to date for large agents, so that searches needn't index much first. */
export function indexMemories({ storage }: { storage: Storage }): JobHandler {
  return {
    every_ms: EVERY_MS,
    async run() {
      const { rows } = await sql`select 1 from agents cross join memory_scopes
        where memory_scopes.agent_seq = agents.seq and level = 0 and turns + notes > ${LARGE} limit 1`.execute(
        storage.db,
      )
      if (rows.length > 0) await indexWaiting(storage.db)
    },
  }
}
