import { setTimeout as wait } from 'node:timers/promises'
import { conflict } from '../errors.ts'
import { PROJECT_NAME, PROJECT_NAME_RULE } from '../lib/text/project-name.ts'
import { eventOfHost } from '../operation/audit-trail.ts'
import type { Parts } from '../operation/parts.ts'
import * as projects from '../projects/store.ts'
import { openSealed, recipientOf, type SealText } from '../security/sealed-box.ts'
import * as blobs from '../storage/bytes/blobs.ts'
import type { ReceivedBytes } from '../storage/bytes/bytes.ts'
import { announce, type Database } from '../storage/database.ts'
import type { CarriedName, FileRecord } from './carried-tables.ts'
import { type CheckedFile, checkedLines, checkFile } from './check-file.ts'
import { beginImport, endPauseReason, findState, type ImportState, putState } from './import-state.ts'
import { insertRows, mostRows, RowsExistError } from './insert-rows.ts'
import { openCells } from './secrets-of-rows.ts'
import {
  type FileRow,
  isNothingWithoutSecrets,
  removeOrphans,
  requireOwn,
  type Target,
  targetRows,
} from './target-rows.ts'
import { damaged, type FileLine, type TableDigest, type TransferHeader } from './transfer-file.ts'

type ImportNeeds = Pick<Parts, 'audit' | 'bytes' | 'keyring' | 'newId' | 'now' | 'storage'>

export type ImportWishes = {
  path: string
  /** The name of the project here. Default: the one that it had. */
  as?: string | undefined
  /** Secrets of the file are not imported, although it has some. */
  skipSecrets?: boolean | undefined
}

export type ImportReport = {
  project: { id: string; name: string }
  tables: TableDigest[]
  /** Rows that were not imported, because their secrets were not. */
  without_secrets: { table: string; rows: number }[]
  secrets: 'imported' | 'left out'
  /** `resumed`: an earlier process has imported a part. `done before`: all of it. */
  began: 'new' | 'resumed' | 'done before'
}

export type TellImport = (phase: 'checking' | 'importing', table: string, rows: number) => void

/**
 * Imports a project. The whole file is checked first. Then rows are written batch by batch into a project that is paused, and
 * each batch stores how far it is: after a crash, the same call continues there.
 */
export async function importProject(parts: ImportNeeds, wishes: ImportWishes, tell: TellImport): Promise<ImportReport> {
  const choose = (header: TransferHeader) => sealOf(parts, header, wishes)
  const file = await checkFile(wishes.path, choose, (table, rows) => tell('checking', table, rows))
  const { db } = parts.storage
  const earlier = await findState(db, file)
  const name = wishes.as ?? file.header.project.name
  if (!PROJECT_NAME.test(name)) throw conflict(`The project's name ${PROJECT_NAME_RULE}. Choose another one with --as.`)
  if (earlier) {
    const project = await projects.get(db, earlier.project_id)
    if (wishes.as !== undefined && project.name !== name) {
      throw conflict(`The import of this file began as "${project.name}".`)
    }
  }
  const state = earlier ?? (await begin(parts, file, name))
  const importing = new Importing(parts, file, state, choose(file.header), tell)
  if (!state.isDone) await importing.run()
  const project = await projects.get(db, state.project_id)
  const began = !earlier ? 'new' : earlier.isDone ? 'done before' : 'resumed'
  return { project: { id: project.id, name: project.name }, ...importing.report(), began }
}

/** What opens the secrets of the file. */
function sealOf(
  { keyring }: ImportNeeds,
  { sealed }: TransferHeader,
  { skipSecrets }: ImportWishes,
): SealText | undefined {
  if (!sealed || skipSecrets) return undefined
  if (sealed.recipient === recipientOf(keyring)) return openSealed(keyring, sealed)
  throw conflict(
    'The secrets in the file are sealed for another service. Export again with --seal-to and what `moorage import --recipient` prints here, or leave them out with --skip-secrets.',
  )
}

async function begin(parts: ImportNeeds, file: CheckedFile, name: string): Promise<ImportState> {
  return parts.storage.transaction(async (db) => {
    const state = await beginImport(db, file, name, parts)
    await record(parts, db, state.project_id, 'started')
    return state
  })
}

function record(parts: ImportNeeds, db: Database, project_id: string, outcome: 'started' | 'success') {
  const imported = { action: 'importProject', project_id, target: project_id, outcome }
  return parts.audit.record(db, eventOfHost(parts, imported))
}

/** A batch has about this many bytes. */
const BATCH_BYTES = 2 ** 20
/** On SQLite others can't write during a batch, so the next one leaves them time. */
const MOST_REST_MS = 50

class Importing {
  readonly #parts: ImportNeeds
  readonly #file: CheckedFile
  readonly #open: SealText | undefined
  readonly #tell: TellImport
  #state: ImportState
  #agents = new Map<string, number>()
  #table: CarriedName = 'agents'
  #columns: string[] = []
  #batch: FileRow[] = []
  #bytes = 0
  /** The bytes of the files that come next: taken in, or stored with files before. */
  #blob: { sha256: string; taken: ReceivedBytes | undefined; blob_id: string | undefined } | undefined

  constructor(parts: ImportNeeds, file: CheckedFile, state: ImportState, open: SealText | undefined, tell: TellImport) {
    this.#parts = parts
    this.#file = file
    this.#state = state
    this.#open = open
    this.#tell = tell
  }

  async run(): Promise<void> {
    await this.#loadAgents()
    // The file may have been changed since it was checked, so what is used is checked again.
    const lines = checkedLines(this.#file.path, () => this.#open)
    try {
      for (let next = await lines.next(); !next.done; ) {
        const said = next.value
        if (said.kind === 'blob') {
          next = await this.#takeBlob(said, lines)
          continue
        }
        await this.#take(said)
        next = await lines.next()
      }
    } finally {
      await lines.return(undefined)
      await this.#releaseBlob()
    }
  }

  report(): Pick<ImportReport, 'tables' | 'secrets' | 'without_secrets'> {
    const { rows } = this.#state
    return {
      tables: this.#file.tables,
      secrets: this.#open ? 'imported' : 'left out',
      without_secrets: Object.entries(rows)
        .filter(([name]) => name.endsWith(LEFT))
        .map(([name, count]) => ({ table: name.slice(0, -LEFT.length), rows: count })),
    }
  }

  async #take(said: Exclude<FileLine, { kind: 'blob' }>): Promise<void> {
    if (said.kind === 'table') {
      this.#table = said.table as CarriedName
      this.#columns = said.columns
    } else if (said.kind === 'row') await this.#takeRow(said.cells, said.line)
    else if (said.kind === 'end') await this.#endTable(said)
    else if (said.kind === 'last') await this.#finish(said.sha256)
  }

  async #takeRow(cells: unknown[], line: number): Promise<void> {
    if (line <= this.#state.line) return
    const row = Object.fromEntries(this.#columns.map((column, i) => [column, cells[i]])) as FileRecord
    this.#batch.push({ row, opened: this.#open && openCells(this.#table, row, this.#open) })
    this.#bytes += cells.reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 8), 0)
    if (this.#batch.length >= mostRows(this.#columns.length + 6) || this.#bytes > BATCH_BYTES) await this.#flush(line)
  }

  async #endTable({ line, rows, table }: FileLine & { kind: 'end' }): Promise<void> {
    if (line <= this.#state.line) return
    await this.#flush(line)
    await this.#releaseBlob()
    if ((this.#state.rows[table] ?? 0) !== rows) throw damaged(`it has changed while ${table} was imported`)
    if (table === 'agents') await this.#loadAgents()
  }

  /** Writes what has come, and that the file is done up to the line. */
  async #flush(line: number): Promise<void> {
    const started = performance.now()
    const [table, rows, before] = [this.#table, this.#batch, this.#state]
    const left = rows.filter((row) => isNothingWithoutSecrets(table, row)).length
    const count = (name: string, more: number) => ({ [name]: (before.rows[name] ?? 0) + more })
    const after = {
      ...before,
      line,
      rows: { ...before.rows, ...count(table, rows.length), ...(left > 0 && count(table + LEFT, left)) },
    }
    const { storage, keyring, now } = this.#parts
    const target: Target = { project_id: before.project_id, agents: this.#agents, keyring }
    try {
      await storage.transaction(async (db) => {
        await putState(db, this.#file, before, after, now())
        await requireOwn(db, table, rows, target)
        const stored = await targetRows(db, table, rows, target)
        if (table === 'ledger') await removeOrphans(db, rows)
        const blob_id = table === 'files' && rows.length > 0 ? await this.#keepBlob(db, rows) : undefined
        await insertRows(db, table, blob_id === undefined ? stored : stored.map((row) => ({ ...row, blob_id })))
      })
    } catch (error) {
      if (!(error instanceof RowsExistError)) throw error
      throw conflict(
        `Rows of ${table} in the file exist already. If the project was deleted here a short while ago, they are still being removed: run the same command again in a few minutes.`,
      )
    }
    this.#state = after
    this.#batch = []
    this.#bytes = 0
    this.#tell('importing', table, after.rows[table] ?? 0)
    if (storage.engine === 'sqlite') await wait(Math.min(MOST_REST_MS, performance.now() - started))
  }

  async #loadAgents(): Promise<void> {
    const { project_id } = this.#state
    const agents = this.#parts.storage.db.selectFrom('agents').select(['id', 'seq'])
    const rows = await agents.where('project_id', '=', project_id).execute()
    this.#agents = new Map(rows.map(({ id, seq }) => [id, seq]))
  }

  /** Takes in bytes, which become the project's with the first file that has them. Returns what comes after them. */
  async #takeBlob({ line, sha256 }: FileLine & { kind: 'blob' }, lines: AsyncGenerator<FileLine>) {
    if (this.#batch.length > 0) await this.#flush(line - 1)
    await this.#releaseBlob()
    this.#blob = { sha256, taken: undefined, blob_id: undefined }
    let next = await lines.next()
    const pieces = async function* () {
      for (; !next.done && next.value.kind === 'bytes'; next = await lines.next()) yield next.value.piece
    }
    if (line <= this.#state.line) {
      while (!next.done && next.value.kind === 'bytes') next = await lines.next()
      return next
    }
    this.#blob.taken = await this.#parts.bytes.take(this.#state.project_id, pieces())
    if (!next.done && next.value.kind === 'cut') await this.#releaseBlob()
    else if (this.#blob.taken.sha256 !== sha256) throw damaged('the bytes of a file have changed')
    return next
  }

  /** An earlier process may have stored the bytes with other files. */
  async #keepBlob(db: Database, rows: readonly FileRow[]): Promise<string> {
    const { project_id } = this.#state
    await blobs.holdProject(db, project_id)
    const sha256 = String(rows[0]?.row['sha256'])
    const { id = '' } = this.#blob?.taken ?? {}
    const kept = await blobs.keep(db, { id, project_id, sha256 })
    if (kept === undefined) throw conflict('The bytes of a file were removed before they were stored. Run it again.')
    return kept
  }

  /** What no file has taken is removed. */
  async #releaseBlob(): Promise<void> {
    const { taken } = this.#blob ?? {}
    this.#blob = undefined
    if (taken) await this.#parts.bytes.release(taken)
  }

  /** From now on the project is complete. Every node forgets what it knew of it. */
  async #finish(sha256: string): Promise<void> {
    if (sha256 !== this.#file.sha256) throw damaged('it has changed while it was imported')
    const { now, storage } = this.#parts
    const before = this.#state
    const { project_id } = before
    const after = { ...before, isDone: true }
    await storage.transaction(async (db) => {
      await putState(db, this.#file, before, after, now())
      await endPauseReason(db, project_id, now())
      await record(this.#parts, db, project_id, 'success')
      for (const change of ['projects', 'secrets', 'providers', 'prices', 'budgets'] as const)
        await announce(db, change, project_id)
      for (const change of ['agents', 'keys', 'deployments', 'webhooks', 'schedules'] as const)
        await announce(db, change)
    })
    this.#state = after
  }
}

/** What stands after the name of a table where its rows that were left out are counted. */
const LEFT = ' without secrets'
