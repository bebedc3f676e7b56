import { Worker } from 'node:worker_threads'
import type { QueryResult } from 'kysely'
import type {
  SqliteFailure,
  SqliteReply,
  SqliteRequest,
  SqliteResult,
  SqliteStatement,
  SqliteWork,
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

/** Thrown when a statement should have changed its owner's row, but another owner has the row. */
export class LostLeaseError extends Error {}

export type SqliteWatcher = {
  /** Called when another process has committed something. */
  onForeignChange: () => void
  /** Called when a statement found content in the file that SQLite doesn't understand. */
  onDamage: (error: Error) => void
  /** Called when a thread has died. Nothing works until the process is restarted. */
  onLost: (error: Error) => void
}

type Outcomes = (QueryResult<never> | Error)[]

/** The caller of a request. It gets one answer. */
export type Caller = { resolve(outcomes: Outcomes): void; reject(error: Error): void }

type ThreadOptions = SqliteWatcher & Pick<SqliteWorkerData, 'path' | 'role'> & { onOpened?: () => void }

/** One connection to the database, as used by the thread that answers HTTP. Requests are answered in their order. */
export class SqliteThread {
  readonly #worker: Worker
  readonly #takenBack = new Float64Array(new SharedArrayBuffer(16))
  readonly #waiting = new Map<number, Caller>()
  readonly #exited: Promise<void>
  readonly #onDamage: SqliteWatcher['onDamage']
  #lastId = 0
  #failure: Error | undefined
  #closing = false

  constructor({ path, role, onForeignChange, onDamage, onLost, onOpened }: ThreadOptions) {
    this.#onDamage = onDamage
    const workerData: SqliteWorkerData = { path, role, takenBack: this.#takenBack }
    this.#worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), { workerData })
    this.#worker.on('message', (reply: SqliteReply) => {
      if ('changedElsewhere' in reply) onForeignChange()
      else if ('opened' in reply) onOpened?.()
      else this.#hear(reply)
    })
    this.#worker.on('error', (error: Error) => this.#failAll(error))
    this.#exited = new Promise((resolve) => this.#worker.once('exit', () => resolve()))
    this.#exited.then(() => {
      const reason = this.#failure?.message ?? 'the cause is unknown'
      this.#failAll(this.#failure ?? new Error('the database is closed'))
      if (!this.#closing) onLost(new Error(`the ${role} thread of SQLite has ended: ${reason}`))
    })
  }

  /** Executes the next statements of an open transaction. Returns the result of the last. */
  async run<R>(statements: SqliteStatement[]): Promise<QueryResult<R>> {
    const [result] = await new Promise<Outcomes>((resolve, reject) => this.ask({ statements }, { resolve, reject }))
    return result as QueryResult<R>
  }

  /**
   * Executes whole transactions that share one commit. Returns the result of each one's last statement, or the error
   * that undid the transaction.
   */
  transact(transactions: SqliteStatement[][]): Promise<Outcomes> {
    return new Promise((resolve, reject) => this.ask({ transactions }, { resolve, reject }))
  }

  /** Empties the write-ahead log. Returns false if a read in progress still needs it. */
  async emptyLog(): Promise<boolean> {
    const [result] = await new Promise<Outcomes>((resolve, reject) => this.ask({ emptyLog: true }, { resolve, reject }))
    return (result as QueryResult<{ busy: number }>).rows[0]?.busy === 0
  }

  ask(request: SqliteWork, caller: Caller): void {
    if (this.#failure) return caller.reject(this.#failure)
    const id = ++this.#lastId
    this.#waiting.set(id, caller)
    this.#worker.postMessage({ id, ...request } satisfies SqliteRequest)
  }

  /**
   * Cancels all requests except the first, which may have begun. Their callers get no answer, and the thread skips
   * them.
   */
  takeBack(): void {
    const [first = this.#lastId, ...others] = this.#waiting.keys()
    for (const id of others) this.#waiting.delete(id)
    this.#takenBack[0] = first
    this.#takenBack[1] = this.#lastId
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#worker.postMessage('close')
    await this.#exited
  }

  /** Ends the thread, no matter what it is doing. A running statement ends only when SQLite returns. */
  async terminate(): Promise<void> {
    this.#closing = true
    await this.#worker.terminate()
  }

  #hear(reply: Extract<SqliteReply, { id: number }>): void {
    const caller = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if (!caller) return
    const outcomes = ('outcomes' in reply ? reply.outcomes : [reply.outcome]).map(outcomeOf)
    const damage = outcomes.find(isDamaged)
    if (damage) this.#onDamage(damage)
    if ('outcomes' in reply) return caller.resolve(outcomes)
    const [outcome] = outcomes as [Outcomes[number]]
    if (outcome instanceof Error) caller.reject(outcome)
    else caller.resolve([outcome])
  }

  #failAll(error: Error): void {
    this.#failure = error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

function outcomeOf(outcome: SqliteResult | SqliteFailure): QueryResult<never> | Error {
  if (!('error' in outcome)) return { rows: namedRows(outcome) as never[], numAffectedRows: BigInt(outcome.changes) }
  const { lostLease, ...error } = outcome.error
  return lostLease ? new LostLeaseError(error.message) : new SqliteError(error)
}

function namedRows({ columns, rows }: SqliteResult): Record<string, unknown>[] {
  return rows.map((values) => {
    const row: Record<string, unknown> = {}
    for (let i = 0; i < columns.length; i++) row[columns[i] as string] = values[i]
    return row
  })
}

const SQLITE_CORRUPT = 11
const SQLITE_NOT_A_DATABASE = 26

/** Whether a store's file has content that SQLite doesn't understand. */
export function isDamaged(error: unknown): error is Error {
  const { errcode = 0 } = Object(error) as { errcode?: number }
  return error instanceof Error && [SQLITE_CORRUPT, SQLITE_NOT_A_DATABASE].includes(errcode & 0xff)
}
