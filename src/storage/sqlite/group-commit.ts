import type { QueryResult } from 'kysely'
import type { JournalEntry } from '../journal/entry.ts'
import type { OnCommit } from '../journal/rows.ts'
import { BEGIN } from './executor.ts'
import type { SqliteStatement } from './sqlite-messages.ts'
import { LostLeaseError, type SqliteThread } from './sqlite-thread.ts'
import { entryStatements } from './sqlite-write-batch.ts'

/** How many transactions one commit can include. Further ones wait for the next commit. */
const GROUP_SIZE = 512
/**
 * How long the open transactions of one commit can take while others wait. After that, the remaining ones wait for the
 * next commit.
 */
const OPEN_MS = 5

type TransactionEnd = 'commit' | 'rollback'

type Outcome = QueryResult<never> | Error

/** A transaction whose statements are all known. */
type KnownMember = { statements: SqliteStatement[]; done: (outcome: Outcome) => void }

/** An entry of the journal. */
type EntryMember = { entry: JournalEntry; done: (outcome: Outcome) => void }

/** A transaction whose statements arrive one by one. */
type OpenMember = { start: (transaction: SqliteTransaction) => void; refuse: (error: unknown) => void }

/**
 * Transactions that wait while the writer is busy share its next commit, so one fsync serves them all. Within the group
 * they run one after the other, each in a savepoint, so a failing one doesn't undo the others. The journal's entries
 * are one of these transactions, so a row that several entries add to is written once. Entries that may be refused are
 * transactions of their own. There is no timer: an idle service commits immediately, and a slow disk results in larger
 * groups.
 *
 * Transactions whose statements arrive one by one have separate commits, which alternate with the others. So a run's
 * writes never wait for all open transactions of another project.
 */
export class GroupCommit {
  readonly #writer: SqliteThread
  readonly #silentMs: number
  readonly #onCommit: OnCommit
  readonly #known: (KnownMember | EntryMember)[] = []
  readonly #open: OpenMember[] = []
  readonly #betweenGroups: (() => Promise<void>)[] = []
  #isPumping = false

  /** `silentMs` is how long a transaction can be open without a statement while others wait. */
  constructor(writer: SqliteThread, silentMs: number, onCommit: OnCommit) {
    this.#writer = writer
    this.#silentMs = silentMs
    this.#onCommit = onCommit
  }

  begin(): Promise<SqliteTransaction> {
    return new Promise((start, refuse) => {
      this.#open.push({ start, refuse })
      this.#start()
    })
  }

  /** Runs a transaction whose statements are all known. Returns the result of the last statement. */
  transact<R>(statements: SqliteStatement[]): Promise<QueryResult<R>> {
    return new Promise((resolve, reject) => {
      const done = (outcome: Outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome))
      this.#enter({ statements, done })
    })
  }

  /** Writes an entry. Returns false if one of its leases was lost. Then nothing of it is written. */
  write(entry: JournalEntry): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const done = (outcome: Outcome) => {
        if (outcome instanceof LostLeaseError) resolve(false)
        else if (outcome instanceof Error) reject(outcome)
        else resolve(true)
      }
      this.#enter({ entry, done })
    })
  }

  /** Empties the write-ahead log. Returns false if a read in progress still needs it. */
  emptyLog(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      // SQLite only does this outside of transactions.
      this.#betweenGroups.push(() => this.#writer.emptyLog().then(resolve, reject))
      this.#start()
    })
  }

  #enter(waiting: KnownMember | EntryMember): void {
    this.#known.push(waiting)
    this.#start()
  }

  #start(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    // Transactions that begin during the rest of this pass of the event loop join the same group.
    setImmediate(() => this.#pump())
  }

  async #pump(): Promise<void> {
    while (this.#known.length + this.#open.length + this.#betweenGroups.length > 0) {
      await this.#betweenGroups.shift()?.()
      if (this.#known.length > 0) await this.#commitKnown(this.#known.splice(0, GROUP_SIZE))
      if (this.#open.length > 0) await this.#commitOpen(this.#open.splice(0, GROUP_SIZE))
    }
    this.#isPumping = false
  }

  /** Sends the whole commit to the writer in one message. */
  async #commitKnown(group: (KnownMember | EntryMember)[]): Promise<void> {
    const started = performance.now()
    const known: KnownMember[] = []
    const entries: EntryMember[] = []
    for (const member of group) {
      if (!('entry' in member)) known.push(member)
      else if (member.entry.mayBeTaken) known.push(alone(member))
      else entries.push(member)
    }
    if (entries.length > 0) known.push(this.#together(entries))
    try {
      const outcomes = await this.#writer.transact(known.map(({ statements }) => statements))
      for (const [i, { done }] of known.entries()) done(outcomes[i] as Outcome)
    } catch (error) {
      for (const { done } of known) done(error as Error)
    }
    this.#onCommit(group.length, performance.now() - started)
  }

  /** Makes one transaction of a group's entries. */
  #together(entries: readonly EntryMember[]): KnownMember {
    const done = (outcome: Outcome) => {
      // One entry lost its lease or can't be written, which undid them all. Each is now written by itself, before those
      // that came later.
      if (outcome instanceof Error && entries.length > 1) this.#known.unshift(...entries.map(alone))
      else for (const entry of entries) entry.done(outcome)
    }
    return { statements: entryStatements(entries.map(({ entry }) => entry)), done }
  }

  /** Runs open transactions one after the other, and commits them together. */
  async #commitOpen(open: OpenMember[]): Promise<void> {
    const started = performance.now()
    const committed = Promise.withResolvers<void>()
    committed.promise.catch(() => {})
    const writer = new GroupWriter(this.#writer)
    writer.next(BEGIN)
    try {
      const end = await this.#runOpen(open, writer, committed.promise)
      await writer.run([plain(end)])
      committed.resolve()
    } catch (error) {
      // This fails if SQLite has rolled back by itself (disk full). Then there is nothing to undo.
      await this.#writer.run([plain('rollback')]).catch(() => {})
      committed.reject(error)
      // The members that haven't run yet won't run any more.
      for (const { refuse } of open) refuse(error)
    }
    this.#onCommit(open.length, performance.now() - started)
  }

  /**
   * Runs the open transactions, and returns how the writer's transaction ends. A single member decides that itself;
   * several have savepoints. If others wait, members that haven't begun within some time wait for the next commit.
   */
  async #runOpen(open: OpenMember[], writer: GroupWriter, committed: Promise<void>): Promise<TransactionEnd> {
    const run = (member: OpenMember) => {
      const transaction = new SqliteTransaction(writer, committed, this.#silentMs)
      member.start(transaction)
      return transaction.ended
    }
    if (open.length === 1) return run(open[0] as OpenMember)
    const until = performance.now() + OPEN_MS
    for (const [i, member] of open.entries()) {
      if (i > 0 && this.#known.length > 0 && performance.now() > until) {
        this.#open.unshift(...open.splice(i))
        break
      }
      writer.next('savepoint member')
      if ((await run(member)) === 'rollback') writer.next('rollback to member')
      writer.next('release member')
    }
    return 'commit'
  }
}

/**
 * The writer as the members of one group use it. Opening and closing are sent with the next statement, because a
 * separate message costs as much as a small statement.
 */
class GroupWriter {
  readonly #writer: SqliteThread
  #next: SqliteStatement[] = []

  constructor(writer: SqliteThread) {
    this.#writer = writer
  }

  next(sql: string): void {
    this.#next.push(plain(sql))
  }

  run<R>(statements: SqliteStatement[]): Promise<QueryResult<R>> {
    const all = [...this.#next, ...statements]
    this.#next = []
    return this.#writer.run<R>(all)
  }
}

/** A running transaction. Until it ends, the writer serves no other transaction. */
export class SqliteTransaction {
  readonly #writer: GroupWriter
  readonly #committed: Promise<void>
  readonly #silentMs: number
  readonly #ending = Promise.withResolvers<TransactionEnd>()
  readonly #watch: NodeJS.Timeout
  #underWay = 0
  #lastStatement = performance.now()
  #stalled: Error | undefined

  constructor(writer: GroupWriter, committed: Promise<void>, silentMs: number) {
    this.#writer = writer
    this.#committed = committed
    this.#silentMs = silentMs
    this.#watch = setTimeout(() => this.#check(), silentMs).unref()
  }

  /** Resolves when the transaction has ended, or has been idle for too long. */
  get ended(): Promise<TransactionEnd> {
    return this.#ending.promise
  }

  /** Runs statements and returns the result of the last one. */
  async run<R>(statements: SqliteStatement[]): Promise<QueryResult<R>> {
    // The writer already serves another transaction, and this statement would become part of it.
    if (this.#stalled) throw this.#stalled
    this.#underWay++
    try {
      return await this.#writer.run<R>(statements)
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
    // A transaction that rolled back was already rejected, so don't reject it again.
    return outcome === 'commit' ? this.#committed : this.#committed.catch(() => {})
  }

  /** Rolls the transaction back if it has been idle for too long, because all others wait for it. */
  #check(): void {
    const silent = this.#underWay > 0 ? 0 : performance.now() - this.#lastStatement
    if (silent < this.#silentMs) {
      this.#watch.refresh()
      return
    }
    this.#stalled = new Error(
      `the transaction was idle for ${this.#silentMs} ms and was rolled back, because others were waiting for it`,
    )
    this.#ending.resolve('rollback')
  }
}

function alone({ entry, done }: EntryMember): KnownMember {
  return { statements: entryStatements([entry]), done }
}

function plain(sql: string): SqliteStatement {
  return { sql, values: [] }
}
