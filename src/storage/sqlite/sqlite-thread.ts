import { Worker } from 'node:worker_threads'
import type { QueryResult } from 'kysely'
import type {
  SqliteFailure,
  SqliteReply,
  SqliteRequest,
  SqliteResult,
  SqliteStatement,
  SqliteWorkerData,
} from './sqlite-messages.ts'

export class SqliteError extends Error {
  /** SQLite's result code, https://sqlite.org/rescode.html. */
  readonly errcode: number | undefined

  constructor({ message, errcode }: { message: string; errcode: number | undefined }) {
    super(message)
    this.errcode = errcode
  }
}

/** Thrown when a statement should have changed a row of its owner, and another owner has the row. */
export class LostLeaseError extends Error {}

export type SqliteWatcher = {
  /** Another process has committed something. */
  onForeignChange: () => void
  /** A thread has died. Nothing works until the process is started again. */
  onLost: (error: Error) => void
}

/** One connection to the database, as the thread that answers HTTP uses it. */
export type Thread = {
  run<R>(statement: SqliteStatement): Promise<QueryResult<R>>
  /**
   * Executes whole transactions that share one commit. Returns for each the result of its last statement, or the error
   * that undid it.
   */
  transact(transactions: SqliteStatement[][]): Promise<(QueryResult<never> | Error)[]>
  close(): Promise<void>
}

type Outcomes = (QueryResult<never> | Error)[]

export function openThread(workerData: SqliteWorkerData, { onForeignChange, onLost }: SqliteWatcher): Thread {
  const worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), { workerData })
  const waiting = new Map<number, { resolve: (outcomes: Outcomes) => void; reject: (error: Error) => void }>()
  let nextId = 1
  let failure: Error | undefined
  let closing = false

  worker.on('message', (reply: SqliteReply) => {
    if ('changedElsewhere' in reply) return onForeignChange()
    const caller = waiting.get(reply.id)
    waiting.delete(reply.id)
    if ('outcomes' in reply) return caller?.resolve(reply.outcomes.map(outcomeOf))
    const outcome = outcomeOf(reply.outcome)
    if (outcome instanceof Error) caller?.reject(outcome)
    else caller?.resolve([outcome])
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

  const ask = (request: SqliteStatement | { transactions: SqliteStatement[][] }): Promise<Outcomes> =>
    new Promise((resolve, reject) => {
      if (failure) return reject(failure)
      const id = nextId++
      waiting.set(id, { resolve, reject })
      worker.postMessage({ id, ...request } satisfies SqliteRequest)
    })

  return {
    async run(statement) {
      const [result] = await ask(statement)
      return result as QueryResult<never>
    },
    transact: (transactions) => ask({ transactions }),
    async close() {
      closing = true
      worker.postMessage('close')
      await exited
    },
  }
}

function outcomeOf(outcome: SqliteResult | SqliteFailure): QueryResult<never> | Error {
  if (!('error' in outcome)) return { rows: outcome.rows as never[], numAffectedRows: BigInt(outcome.changes) }
  const { lostLease, ...error } = outcome.error
  return lostLease ? new LostLeaseError(error.message) : new SqliteError(error)
}
