import { Worker } from 'node:worker_threads'
import pg from 'pg'
import { TIME_QUERY } from '../../../src/storage/postgres/database-clock.ts'
import type { Engine } from '../service/service.ts'

/** Counts what this process asks the database while `work` goes on: statements to PostgreSQL, messages to SQLite's threads. */
export async function countQueries(engine: Engine, work: () => Promise<void>): Promise<number> {
  return (await listQueries(engine, work)).length
}

/** The same, and on PostgreSQL what it asks. */
export async function listQueries(engine: Engine, work: () => Promise<void>): Promise<string[]> {
  const queries: string[] = []
  const target = engine === 'postgres' ? pg.Client.prototype : Worker.prototype
  const method = engine === 'postgres' ? 'query' : 'postMessage'
  const original = Reflect.get(target, method) as (...args: unknown[]) => unknown
  Reflect.set(target, method, function counted(this: unknown, ...args: unknown[]) {
    const [asked] = args
    // The connection that listens pings; that is not a query of anybody's.
    if (asked !== TIME_QUERY)
      queries.push(typeof asked === 'string' ? asked : String((asked as { text?: string }).text))
    return original.apply(this, args)
  })
  try {
    await work()
  } finally {
    Reflect.set(target, method, original)
  }
  return queries
}
