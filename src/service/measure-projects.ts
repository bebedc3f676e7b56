import { sql } from 'kysely'
import * as files from '../files/store.ts'
import type { Parts } from '../operation/parts.ts'
import * as projects from '../projects/store.ts'
import type { Database } from '../storage/database.ts'
import type { JobHandler } from '../storage/jobs/job-handler.ts'
import { textBytes } from '../storage/queries/text-bytes.ts'

const EVERY_MS = 60_000
/** Measuring reads every row of a project. Afterwards, it pauses for this many times as long as it took. */
const RESTS = 20

const TEXTS = {
  invocations: ['message', 'context', 'response', 'error', 'steps', 'given', 'rounds'],
  logs: ['message', 'metadata'],
  memories: ['content', 'metadata', 'terms'],
} as const

/** A recurring job: measures how much is stored in each project that has a limit for it. */
export function measureProjects({ storage, now }: Pick<Parts, 'storage' | 'now'>): JobHandler {
  let restsUntil = 0
  return {
    every_ms: EVERY_MS,
    async run(signal) {
      if (now() < restsUntil) return
      // If the clock is set forward in the meantime, this must not pause for hours.
      const started = performance.now()
      for (const { id, stored_bytes } of await projects.listMeasured(storage.db)) {
        if (signal.aborted) return
        const measured = await bytesOfProject(storage.db, id)
        if (measured !== stored_bytes) await storage.transaction((db) => projects.keepMeasured(db, id, measured))
      }
      restsUntil = now() + (performance.now() - started) * RESTS
    },
  }
}

async function bytesOfProject(db: Database, project_id: string): Promise<number> {
  const agents = await db.selectFrom('agents').select('seq').where('project_id', '=', project_id).execute()
  let bytes = 0
  for (const { seq } of agents) {
    for (const [table, columns] of Object.entries(TEXTS) as [keyof typeof TEXTS, readonly string[]][]) {
      const { rows } = await sql<{ bytes: number }>`
        select coalesce(sum(${textBytes(table, columns)}), 0) as bytes
        from ${sql.table(table)} where agent_seq = ${seq}`.execute(db)
      bytes += Number(rows[0]?.bytes ?? 0)
    }
  }
  return bytes + (await files.count(db, { project_id })).bytes
}
