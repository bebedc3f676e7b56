import { Worker } from 'node:worker_threads'
import type { QueryResult } from 'kysely'
import type { SqliteReply, SqliteRequest, SqliteStatement, SqliteWorkerData } from './sqlite-worker.ts'

export class SqliteError extends Error {
  /** SQLite's result code, https://sqlite.org/rescode.html. */
  readonly errcode: number | undefined

  constructor({ message, errcode }: { message: string; errcode: number | undefined }) {
    super(message)
    this.errcode = errcode
  }
}

/** A statement was to change a row of its owner's, and another has the row now. */
export class LostLeaseError extends Error {}

export type SqliteWatcher = {
  /** Another process has committed something. */
  onForeignChange: () => void
  /** A thread has died: nothing works any more until the process starts anew. */
  onLost: (error: Error) => void
}

/** One connection to the database, as the thread that answers HTTP sees it. */
export type Thread = {
  run<R>(statement: SqliteStatement): Promise<QueryResult<R>>
  /** A whole transaction; the result is that of its last statement. */
  transact<R>(statements: SqliteStatement[]): Promise<QueryResult<R>>
  close(): Promise<void>
}

export function openThread(workerData: SqliteWorkerData, { onForeignChange, onLost }: SqliteWatcher): Thread {
  const worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), { workerData })
  const waiting = new Map<number, { resolve: (result: QueryResult<never>) => void; reject: (error: Error) => void }>()
  let nextId = 1
  let failure: Error | undefined
  let closing = false

  worker.on('message', (reply: SqliteReply) => {
    if ('changedElsewhere' in reply) return onForeignChange()
    const caller = waiting.get(reply.id)
    waiting.delete(reply.id)
    if ('error' in reply) caller?.reject(errorOf(reply.error))
    else caller?.resolve({ rows: reply.rows as never[], numAffectedRows: BigInt(reply.changes) })
  })
  const failAll = (error: Error) => {
    failure = error
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  worker.on('error', failAll)
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  exited.then(() => {
    const reason = failure?.message ?? 'nobody knows why'
    failAll(failure ?? new Error('the database is closed'))
    if (!closing) onLost(new Error(`the ${workerData.role} thread of SQLite has ended: ${reason}`))
  })

  const ask = <R>(request: SqliteStatement | { transaction: SqliteStatement[] }): Promise<QueryResult<R>> =>
    new Promise((resolve, reject) => {
      if (failure) return reject(failure)
      const id = nextId++
      waiting.set(id, { resolve, reject })
      worker.postMessage({ id, ...request } satisfies SqliteRequest)
    })

  return {
    run: (statement) => ask(statement),
    transact: (transaction) => ask({ transaction }),
    async close() {
      closing = true
      worker.postMessage('close')
      await exited
    },
  }
}

function errorOf({ lostLease, ...error }: { message: string; errcode: number | undefined; lostLease: boolean }): Error {
  return lostLease ? new LostLeaseError(error.message) : new SqliteError(error)
}
