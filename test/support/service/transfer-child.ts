import { once } from 'node:events'
import { sql } from 'kysely'
import { buildParts } from '../../../src/build-parts.ts'
import { loadConfig } from '../../../src/config.ts'
import { importProject } from '../../../src/transfer/import-project.ts'
import { childEnv, startChild } from './child.ts'

type Task = {
  env: Record<string, string>
  cwd: string
  path: string
  as: string
  /** One of its transactions, or the one after which a table has that many rows more. */
  diesAt: number | { table: string; rows: number }
  isCommitted: boolean
}

/**
 * A process that imports a file and dies by kill -9 at one of its transactions, either before the commit or right after
 * it. Returns whether it finished first.
 */
export async function importAndDie(task: Task): Promise<'died' | 'ended'> {
  const child = startChild(process.execPath, [import.meta.filename, JSON.stringify(task)], {
    env: childEnv(),
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code, signal] = await once(child, 'exit')
  if (signal === 'SIGKILL') return 'died'
  if (code === 0) return 'ended'
  throw new Error(`the import failed with ${code}`)
}

if (process.argv[1] === import.meta.filename) {
  const { env, cwd, path, as, diesAt, isCommitted } = JSON.parse(process.argv[2] as string) as Task
  const { parts, close } = await buildParts(loadConfig({ env, cwd }).config, { kind: 'cli' })
  const count = async () => {
    if (typeof diesAt === 'number') return 0
    const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(diesAt.table)}`.execute(
      parts.storage.db,
    )
    return Number(rows[0]?.n)
  }
  const had = await count()
  let transactions = 0
  const dieNow = () => process.kill(process.pid, 'SIGKILL')
  const storage: typeof parts.storage = {
    ...parts.storage,
    async transaction(work) {
      const isLast = ++transactions === diesAt
      const result = await parts.storage.transaction(async (db) => {
        const done = await work(db)
        if (isLast && !isCommitted) dieNow()
        return done
      })
      if (isLast || (typeof diesAt !== 'number' && (await count()) - had >= diesAt.rows)) dieNow()
      return result
    },
  }
  await importProject({ ...parts, storage }, { path, as }, () => {})
  await close()
}
