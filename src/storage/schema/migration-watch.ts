import type { Logger } from '../../lib/log.ts'

const TELL_EVERY_MS = 5_000

/** The current migration and its progress. Only migrations that this start has to run are counted. */
export type MigrationProgress = { name: string; step: number; steps: number; rows_done?: number; rows?: number }

/** Tracks and logs what this start's migrations are doing. Probes read it. */
export class MigrationWatch {
  readonly #log: Pick<Logger, 'info'>
  readonly #tellEveryMs: number
  #running: MigrationProgress | undefined
  /** What this node waits for, as text. */
  #waitsFor: string | undefined
  #begun = 0
  #timer: NodeJS.Timeout | undefined

  constructor(log: Pick<Logger, 'info'>, tellEveryMs = TELL_EVERY_MS) {
    this.#log = log
    this.#tellEveryMs = tellEveryMs
  }

  get running(): MigrationProgress | undefined {
    return this.#running
  }

  /** What the start is doing now, as text. Undefined if it isn't migrating. */
  get doing(): string | undefined {
    if (this.#waitsFor) return this.#waitsFor
    if (!this.#running) return undefined
    const { name, step, steps, rows_done, rows } = this.#running
    const far = rows === undefined ? '' : `, ${rows_done} of ${rows} rows`
    return `the database is being migrated: ${name}, step ${step} of ${steps}${far}`
  }

  /** Reports that another node is migrating the same database. */
  waitForMigration(): void {
    this.#waitsFor = 'another node is changing the database; this node waits'
    this.#tell('another node is migrating the database; this node waits')
  }

  /** Reports that older nodes would have to stop. `reason` names them and says what the operator can do. */
  waitForConsent(reason: string): void {
    const isNew = this.#waitsFor !== reason
    this.#waitsFor = reason
    if (isNew) this.#tell(reason)
  }

  /** Reports that a migration starts. After a failed try, the first one starts again. */
  begin(running: MigrationProgress): void {
    this.#waitsFor = undefined
    this.#running = running
    this.#tell('migrating the database')
  }

  tellRows(rows_done: number, rows: number): void {
    if (this.#running) this.#running = { ...this.#running, rows_done, rows }
  }

  /** Reports that all migrations are committed, or that there were none to run. */
  finish(): void {
    if (this.#running) this.#log.info({ ...this.#fields() }, 'the database migration is complete')
    this.end()
  }

  /** Ends the reports. */
  end(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#running = undefined
    this.#waitsFor = undefined
  }

  #tell(message: string): void {
    if (!this.#timer) this.#begun = performance.now()
    this.#log.info(this.#fields(), message)
    this.#timer ??= setInterval(() => {
      this.#log.info(this.#fields(), this.#waitsFor ? 'this node is still waiting' : 'the database migration continues')
    }, this.#tellEveryMs).unref()
  }

  #fields() {
    const { name: migration, ...far } = this.#running ?? {}
    return { migration, ...far, seconds: Math.round((performance.now() - this.#begun) / 1000) }
  }
}
