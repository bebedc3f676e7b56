import { setTimeout as wait } from 'node:timers/promises'
import { conflict } from '../errors.ts'
import { removeOfMissingProjects } from '../files/store.ts'
import { removeApprovalsOfMissingAgents } from '../invocations/approvals/approval-store.ts'
import { removeOfMissingAgents as removeInvocations } from '../invocations/store.ts'
import { removeOfMissingAgents as removeMemories } from '../memory/upkeep-store.ts'
import { eventOfHost } from '../operation/audit-trail.ts'
import type { Parts } from '../operation/parts.ts'
import type { SealText } from '../security/sealed-box.ts'
import * as blobs from '../storage/bytes/blobs.ts'
import type { ReceivedBytes } from '../storage/bytes/bytes.ts'
import type { Database } from '../storage/database.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import type { LedgerLine } from '../usage/ledger-line.ts'
import { move as moveUsage, sumWrites } from '../usage/store.ts'
import type { CarriedName, FileRecord } from './carried-tables.ts'
import { type CheckedFile, checkedLines } from './check/check-file.ts'
import { announceAll, removeAll } from './discard-import.ts'
import { endPauseReason, type ImportState, putState } from './import-state.ts'
import { openCells } from './secrets-of-rows.ts'
import {
  type FileRow,
  insertRows,
  isNothingWithoutSecrets,
  knownLines,
  mostRows,
  RowsExistError,
  requireOwn,
  type Target,
  targetRows,
} from './target-rows.ts'
import { damaged, type FileLine } from './transfer-file.ts'
import { ExpectedRows } from './verify-import.ts'

export type ImportNeeds = Pick<Parts, 'audit' | 'bytes' | 'config' | 'keyring' | 'newId' | 'now' | 'storage'>

export type TellImport = (phase: 'checking' | 'importing' | 'comparing', table: string, rows: number) => void

/** Rows of deleted agents and projects that are still to be removed, because the file may contain them again. */
const REMAINS: Partial<Record<CarriedName, (db: Database, limit: number, now: number) => Promise<number>>> = {
  files: removeOfMissingProjects,
  memories: removeMemories,
  invocations: removeInvocations,
  approvals: removeApprovalsOfMissingAgents,
}

/** The approximate size of a batch in bytes. */
const BATCH_BYTES = 2 ** 20
/** On SQLite, others can't write during a batch, so the next one leaves them some time. */
const MOST_REST_MS = 50

/** Imports the rows of a file that was checked. */
export class Importing {
  readonly #parts: ImportNeeds
  readonly #file: CheckedFile
  readonly #open: SealText | undefined
  readonly #tell: TellImport
  #state: ImportState
  readonly #expected: ExpectedRows
  #agents = new Map<string, number>()
  #table: CarriedName = 'agents'
  #columns: string[] = []
  #batch: FileRow[] = []
  #bytes = 0
  #lines: FileRow[] = []
  /** The bytes of the files that come next: either just received, or stored already with earlier files. */
  #blob: { sha256: string; taken: ReceivedBytes | undefined; blob_id: string | undefined } | undefined

  constructor(parts: ImportNeeds, file: CheckedFile, state: ImportState, open: SealText | undefined, tell: TellImport) {
    this.#parts = parts
    this.#file = file
    this.#state = state
    this.#open = open
    this.#tell = tell
    this.#expected = new ExpectedRows(state.secrets)
  }

  async run(): Promise<void> {
    await this.#loadAgents()
    // The file may have been changed since it was checked, so its lines are checked again as they are used.
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

  report() {
    const { known_lines, left, read, secrets } = this.#state
    const inFile = new Map(this.#file.tables.map(({ table, rows }) => [table, rows]))
    return {
      tables: read.map(({ table, rows, sha256 }) => ({ table, rows, sha256 })),
      differences: read
        .filter(({ isEqual }) => !isEqual)
        .map(({ table, rows }) => ({ table, in_file: inFile.get(table) ?? 0, here: rows })),
      without_secrets: Object.entries(left).map(([table, rows]) => ({ table, rows })),
      secrets: secrets ? ('imported' as const) : ('left out' as const),
      known_calls: known_lines,
    }
  }

  async #take(said: Exclude<FileLine, { kind: 'blob' }>): Promise<void> {
    if (said.kind === 'table') {
      this.#table = said.table as CarriedName
      this.#columns = said.columns
      // Keys give access to the project, so everything else is compared before them. Otherwise, clients could change
      // it.
      if (this.#table === 'keys' && said.line > this.#state.line) await this.#compare(said.line)
      this.#expected.begin(this.#table, said.columns)
    } else if (said.kind === 'row') await this.#takeRow(said.cells, said.line)
    else if (said.kind === 'end') await this.#endTable(said)
    else if (said.kind === 'last') await this.#finish(said)
  }

  async #takeRow(cells: unknown[], line: number): Promise<void> {
    const row = Object.fromEntries(this.#columns.map((column, i) => [column, cells[i]])) as FileRecord
    if (this.#table === 'ledger') await this.#expectLine(row)
    else this.#expected.add(this.#table, row)
    if (line <= this.#state.line) return
    this.#batch.push({ row, opened: this.#open && openCells(this.#table, row, this.#open) })
    this.#bytes += cells.reduce<number>((sum, cell) => sum + (typeof cell === 'string' ? cell.length : 8), 0)
    if (this.#batch.length >= mostRows(this.#columns.length + 6) || this.#bytes > BATCH_BYTES) await this.#flush(line)
  }

  async #endTable({ line, rows, table }: FileLine & { kind: 'end' }): Promise<void> {
    await this.#expectLines()
    if (line <= this.#state.line) return
    await this.#flush(line)
    await this.#releaseBlob()
    if ((this.#state.rows[table] ?? 0) !== rows) throw damaged(`it has changed while ${table} was imported`)
    if (table === 'agents') await this.#loadAgents()
  }

  /** Notes which lines to expect in the ledger. Lines that it already contained stay unchanged. */
  async #expectLine(row: FileRecord): Promise<void> {
    this.#lines.push({ row, opened: undefined })
    if (this.#lines.length >= LINES_AT_ONCE) await this.#expectLines()
  }

  async #expectLines(): Promise<void> {
    const lines = this.#lines
    this.#lines = []
    const known = await knownLines(this.#parts.storage.db, lines, this.#target())
    for (const { row } of lines) if (!known.has(String(row['id']))) this.#expected.add('ledger', row)
  }

  #target(): Target {
    const { project_id, usage_id } = this.#state
    return { project_id, usage_id, agents: this.#agents, keyring: this.#parts.keyring }
  }

  /** Writes the collected rows, and that the file is done up to this line. */
  async #flush(line: number): Promise<void> {
    const started = performance.now()
    try {
      await this.#write(line)
    } catch (error) {
      const remove = REMAINS[this.#table]
      if (!(error instanceof RowsExistError) || !remove) throw error
      await removeAll(this.#parts, remove)
      await this.#write(line)
    }
    this.#batch = []
    this.#bytes = 0
    this.#tell('importing', this.#table, this.#state.rows[this.#table] ?? 0)
    if (this.#parts.storage.engine === 'sqlite') await wait(Math.min(MOST_REST_MS, performance.now() - started))
  }

  async #write(line: number): Promise<void> {
    const [table, rows, before, target] = [this.#table, this.#batch, this.#state, this.#target()]
    const { storage, now } = this.#parts
    this.#state = await storage.transaction(async (db) => {
      const known = table === 'ledger' ? await knownLines(db, rows, target) : NONE
      const fresh = known.size === 0 ? rows : rows.filter(({ row }) => !known.has(String(row['id'])))
      const left = fresh.filter((row) => isNothingWithoutSecrets(table, row)).length
      const after = {
        ...before,
        line,
        rows: added(before.rows, table, rows.length),
        left: added(before.left, table, left),
        known_lines: before.known_lines + known.size,
      }
      await putState(db, this.#file, before, after, now())
      await requireOwn(db, table, fresh, target)
      const stored = await targetRows(db, table, fresh, target)
      const blob_id = table === 'files' && fresh.length > 0 ? await this.#keepBlob(db, fresh) : undefined
      await insertRows(db, table, blob_id === undefined ? stored : stored.map((row) => ({ ...row, blob_id })))
      if (table === 'ledger') await writeRows(db, (stored as unknown as LedgerLine[]).flatMap(sumWrites))
      return after
    })
  }

  async #loadAgents(): Promise<void> {
    const { project_id } = this.#state
    const agents = this.#parts.storage.db.selectFrom('agents').select(['id', 'seq'])
    const rows = await agents.where('project_id', '=', project_id).execute()
    this.#agents = new Map(rows.map(({ id, seq }) => [id, seq]))
  }

  /** Receives bytes, which become the project's with the first file that has them. Returns the line after them. */
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

  /** Removes bytes that no file has used. */
  async #releaseBlob(): Promise<void> {
    const { taken } = this.#blob ?? {}
    this.#blob = undefined
    if (taken) await this.#parts.bytes.release(taken)
  }

  /** Reads back the tables that are complete. */
  async #compare(line: number): Promise<void> {
    const before = this.#state
    const tell = (table: string, rows: number) => this.#tell('comparing', table, rows)
    const after = { ...before, line, read: await this.#expected.compare(this.#parts, before, tell) }
    const { storage, now } = this.#parts
    await storage.transaction((db) => putState(db, this.#file, before, after, now()))
    this.#state = after
  }

  /** Marks the project as complete. Every node drops what it cached about it. */
  async #finish({ line, sha256 }: FileLine & { kind: 'last' }): Promise<void> {
    if (sha256 !== this.#file.sha256) throw damaged('it has changed while it was imported')
    await this.#compare(line)
    const { now, storage } = this.#parts
    const before = this.#state
    const { project_id, usage_id, read } = before
    const after = { ...before, status: 'done' as const }
    const isEqual = read.every((table) => table.isEqual)
    const reason = isEqual
      ? 'Imported. Resume it when the original no longer runs'
      : 'Imported, but it is not equal to its file. See `moorage import`'
    await storage.transaction(async (db) => {
      await putState(db, this.#file, before, after, now())
      if (usage_id !== project_id) await moveUsage(db, usage_id, project_id)
      await endPauseReason(db, project_id, reason, now())
      await recordImport(this.#parts, db, project_id, 'success')
      await announceAll(db, project_id)
    })
    this.#state = after
  }
}

export function recordImport(parts: ImportNeeds, db: Database, project_id: string, outcome: 'started' | 'success') {
  const imported = { action: 'importProject', project_id, target: project_id, outcome }
  return parts.audit.record(db, eventOfHost(parts, imported))
}

const NONE: ReadonlySet<string> = new Set()
const LINES_AT_ONCE = 250

function added(counts: Readonly<Record<string, number>>, table: string, count: number): Record<string, number> {
  return count === 0 ? { ...counts } : { ...counts, [table]: (counts[table] ?? 0) + count }
}
