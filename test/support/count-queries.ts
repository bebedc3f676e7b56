import { Worker } from 'node:worker_threads'
import pg from 'pg'
import type { Engine } from './service.ts'

/** Counts what this process asks the database while `work` goes on: statements to PostgreSQL, messages to SQLite's threads. */
export async function countQueries(engine: Engine, work: () => Promise<void>): Promise<number> {
  let count = 0
  const target = engine === 'postgres' ? pg.Client.prototype : Worker.prototype
  const method = engine === 'postgres' ? 'query' : 'postMessage'
  const original = Reflect.get(target, method) as (...args: unknown[]) => unknown
  Reflect.set(target, method, function counted(this: unknown, ...args: unknown[]) {
    // The connection that listens pings; that is not a query of anybody's.
    if (args[0] !== 'select 1') count++
    return original.apply(this, args)
  })
  try {
    await work()
  } finally {
    Reflect.set(target, method, original)
  }
  return count
}
