import type { QueryResult } from 'kysely'
import type { SqliteStatement } from './sqlite-messages.ts'
import type { SqliteThread } from './sqlite-thread.ts'

/** How many transactions one commit may carry. More wait for the next commit. */
const GROUP_SIZE = 512

type TransactionEnd = 'commit' | 'rollback'

/** A transaction that waits for the writer. */
type Waiting = {
  start: (transaction: SqliteTransaction) => void
  refuse: (error: unknown) => void
  /** Set when all its statements are known beforehand. */
  known?: { statements: SqliteStatement[]; done: (result: QueryResult<never>) => void }
}

/**
 * Transactions that wait while the writer is busy share its next commit, so that one fsync serves them all. Within the
 * group they run one after the other, each in a savepoint: one that fails does not undo the others.
 */
export class GroupCommit {
  readonly #writer: SqliteThread
  readonly #silentMs: number
  readonly #waiting: Waiting[] = []
  #isPumping = false

  /** `silentMs`: how long a transaction may be open without a statement while others wait. */
  constructor(writer: SqliteThread, silentMs: number) {
    this.#writer = writer
    this.#silentMs = silentMs
  }

  begin(): Promise<SqliteTransaction> {
    return new Promise((start, refuse) => this.#enter({ start, refuse }))
  }

  /** A transaction whose statements are all known. The result is that of the last statement. */
  transact<R>(statements: SqliteStatement[]): Promise<QueryResult<R>> {
    return new Promise((done, refuse) => {
      const start = async (transaction: SqliteTransaction) => {
        let last: QueryResult<R> = { rows: [] }
        try {
          for (const statement of statements) last = await transaction.run<R>(statement)
          await transaction.end('commit')
          done(last)
        } catch (error) {
          await transaction.end('rollback').catch(() => {})
          refuse(error)
        }
      }
      this.#enter({ start, refuse, known: { statements, done } })
    })
  }

  #enter(waiting: Waiting): void {
    this.#waiting.push(waiting)
    if (this.#isPumping) return
    this.#isPumping = true
    // Transactions that begin in the rest of this pass of the event loop may join the same group.
    queueMicrotask(() => this.#pump())
  }

  async #pump(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, GROUP_SIZE)
      if (group.every(({ known }) => known)) await this.#commitKnown(group)
      else await this.#commitGroup(group)
    }
    this.#isPumping = false
  }

  /** Sends the whole group as one message to the writer. */
  async #commitKnown(members: Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#writer.transact(members.map(({ known }) => known?.statements ?? []))
      for (const [i, { known, refuse }] of members.entries()) {
        const outcome = outcomes[i]
        if (outcome instanceof Error) refuse(outcome)
        else known?.done(outcome as QueryResult<never>)
      }
    } catch (error) {
      for (const { refuse } of members) refuse(error)
    }
  }

  async #commitGroup(members: Waiting[]): Promise<void> {
    const only = members.length === 1 ? members[0] : undefined
    try {
      await this.#writer.run(plain('begin immediate'))
    } catch (error) {
      for (const member of members) member.refuse(error)
      return
    }
    const committed = Promise.withResolvers<void>()
    committed.promise.catch(() => {})
    try {
      if (only) {
        await this.#writer.run(plain(await this.#runMember(only, committed.promise)))
      } else {
        for (const member of members) await this.#runMemberInSavepoint(member, committed.promise)
        await this.#writer.run(plain('commit'))
      }
      committed.resolve()
    } catch (error) {
      // This fails when SQLite has rolled back by itself (disk full). Then there is nothing left to undo.
      await this.#writer.run(plain('rollback')).catch(() => {})
      committed.reject(error)
      // The members that have not run yet will not run any more.
      for (const member of members) member.refuse(error)
    }
  }

  #runMember(member: Waiting, committed: Promise<void>): Promise<TransactionEnd> {
    const transaction = new SqliteTransaction(this.#writer, committed, this.#silentMs)
    member.start(transaction)
    return transaction.ended
  }

  async #runMemberInSavepoint(member: Waiting, committed: Promise<void>): Promise<void> {
    await this.#writer.run(plain('savepoint member'))
    if ((await this.#runMember(member, committed)) === 'rollback') await this.#writer.run(plain('rollback to member'))
    await this.#writer.run(plain('release member'))
  }
}

/** A running transaction. Until it ends, the writer serves no other. */
export class SqliteTransaction {
  readonly #writer: SqliteThread
  readonly #committed: Promise<void>
  readonly #silentMs: number
  readonly #ending = Promise.withResolvers<TransactionEnd>()
  readonly #watch: NodeJS.Timeout
  #underWay = 0
  #lastStatement = performance.now()
  #stalled: Error | undefined

  constructor(writer: SqliteThread, committed: Promise<void>, silentMs: number) {
    this.#writer = writer
    this.#committed = committed
    this.#silentMs = silentMs
    this.#watch = setTimeout(() => this.#check(), silentMs).unref()
  }

  /** Resolves when the transaction has ended, or has been silent for too long. */
  get ended(): Promise<TransactionEnd> {
    return this.#ending.promise
  }

  async run<R>(statement: SqliteStatement): Promise<QueryResult<R>> {
    // By now the writer serves another transaction, and this statement would become a part of that one.
    if (this.#stalled) throw this.#stalled
    this.#underWay++
    try {
      return await this.#writer.run<R>(statement)
    } finally {
      this.#underWay--
      this.#lastStatement = performance.now()
    }
  }

  /** Resolves when the whole group is on disk. */
  async end(outcome: TransactionEnd): Promise<void> {
    clearTimeout(this.#watch)
    this.#ending.resolve(outcome)
    if (this.#stalled && outcome === 'commit') throw this.#stalled
    // A transaction that rolled back was already rejected: do not reject it again.
    return outcome === 'commit' ? this.#committed : this.#committed.catch(() => {})
  }

  /** All others wait while this transaction does nothing, so it is rolled back. */
  #check(): void {
    const silent = this.#underWay > 0 ? 0 : performance.now() - this.#lastStatement
    if (silent < this.#silentMs) {
      this.#watch.refresh()
      return
    }
    this.#stalled = new Error(
      `the transaction stood still for ${this.#silentMs} ms and was rolled back: others wait for it`,
    )
    this.#ending.resolve('rollback')
  }
}

function plain(sql: string): SqliteStatement {
  return { sql, values: [] }
}
