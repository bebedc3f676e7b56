import { createHash } from 'node:crypto'
import { problemIn } from '../../lib/text/plain-issue.ts'
import { CreateProjectBody } from '../../projects/project.ts'
import type { SealText } from '../../security/sealed-box.ts'
import {
  type CarriedName,
  carriedNames,
  carriedTable,
  cellColumns,
  type FileRecord,
  type FileValue,
  factsOf,
  isCarried,
} from '../carried-tables.ts'
import { openCells, requireSound } from '../secrets-of-rows.ts'
import {
  damaged,
  type FileLine,
  readTransfer,
  type TableDigest,
  TransferFileError,
  type TransferHeader,
} from '../transfer-file.ts'
import { problemOfCell } from './check-cell.ts'
import { problemOfRow, versionName } from './check-rows.ts'

/** A file of which all lines were read and found correct. */
export type CheckedFile = {
  path: string
  header: TransferHeader
  tables: TableDigest[]
  sha256: string
  lines: number
  /** The IDs of rows that other rows refer to, and the hashes of keys. They must be new to the target. */
  ids: Record<(typeof NAMED)[number], ReadonlySet<string>>
  hashes: ReadonlySet<string>
}

const NAMED = ['agents', 'keys', 'budgets', 'schedules', 'webhooks'] as const

/** The most that the counts in all rows can add up to, because sums must stay exact even across several projects. */
const MOST_IN_ALL = 2 ** 51

/** The most rows of tables that every node keeps in memory for a project in use. */
const MOST_ROWS: Partial<Record<CarriedName, number>> = {
  agents: 1_000_000,
  providers: 100,
  prices: 1_000,
  secrets: 500,
  budgets: 1_000,
  webhooks: 10_000,
  schedules: 1_000_000,
  keys: 1_000_000,
}

type TellLines = (table: string, rows: number) => void

/** Opens the secrets of a file once its header is known. If undefined, they aren't opened or imported. */
export type ChooseSeal = (header: TransferHeader) => SealText | undefined

/** Yields the lines of a file, after checking each one. */
export async function* checkedLines(path: string, choose: ChooseSeal): AsyncGenerator<FileLine> {
  const check = new FileCheck(choose, () => {})
  for await (const line of readTransfer(path)) {
    await check.take(line)
    yield line
  }
}

/** Reads a file without importing it, so that everything wrong with it is found first. */
export async function checkFile(path: string, choose: ChooseSeal, tell: TellLines): Promise<CheckedFile> {
  const check = new FileCheck(choose, tell)
  for await (const line of readTransfer(path)) await check.take(line)
  return check.result(path)
}

class FileCheck {
  readonly #choose: ChooseSeal
  readonly #tell: TellLines
  readonly #ids = Object.fromEntries(NAMED.map((name) => [name, new Set<string>()])) as Record<
    (typeof NAMED)[number],
    Set<string>
  >
  readonly #hashes = new Set<string>()
  readonly #versions = new Set<string>()
  /** The keys with whose rights schedules run. Keys come later in the file. */
  readonly #heirs = new Set<string>()
  readonly #tables: TableDigest[] = []
  #header: TransferHeader | undefined
  #expected: CarriedName[] = []
  #seal: SealText | undefined
  #open: OpenTable | undefined
  #end = { sha256: '', lines: 0 }

  constructor(choose: ChooseSeal, tell: TellLines) {
    this.#choose = choose
    this.#tell = tell
  }

  async take(said: FileLine): Promise<void> {
    const { line } = said
    if ((line === 1) !== (said.kind === 'header')) throw damaged('its header is not its first line')
    if (said.kind === 'header') this.#begin(said.header)
    else if (said.kind === 'table') this.#openTable(said.table, said.columns)
    else if (said.kind === 'last') this.#close(said)
    else if (!this.#open) throw damaged(`line ${line} belongs to no table`)
    else if (said.kind === 'row') await this.#takeRow(this.#open, said.cells, line)
    else if (said.kind === 'end') this.#endTable(this.#open, said)
    else this.#open.takeBytes(said)
  }

  result(path: string): CheckedFile {
    if (!this.#header) throw damaged('it is empty')
    const { sha256, lines } = this.#end
    return { path, header: this.#header, tables: this.#tables, sha256, lines, ids: this.#ids, hashes: this.#hashes }
  }

  #begin(header: TransferHeader): void {
    const { description, limits } = header.project
    const problem = problemIn(CreateProjectBody, { name: 'any', description, limits })
    if (problem !== undefined) throw damaged(`the project has a wrong setting: ${problem}`)
    this.#header = header
    this.#seal = this.#choose(header)
    this.#expected = carriedNames(header.with)
  }

  #openTable(table: string, columns: string[]): void {
    if (this.#open) throw damaged(`${this.#open.name} has no end`)
    if (!isCarried(table)) throw ofNewer(`the table ${table}`)
    // A file from an older version lacks tables that were added later.
    const at = this.#expected.indexOf(table)
    if (at < 0) throw damaged(`${table} stands in the wrong place, or twice`)
    this.#expected.splice(0, at + 1)
    const known = cellColumns(table)
    const unknown = columns.find((column) => !known.includes(column))
    if (unknown !== undefined) throw ofNewer(`the column ${table}.${unknown}`)
    if (new Set(columns).size < columns.length) throw damaged(`a column of ${table} stands there twice`)
    const facts = factsOf(table)
    const missing = known.find(
      (column) =>
        !columns.includes(column) && !facts[column]?.isNullable && !facts[column]?.rules.includes(' default '),
    )
    if (missing !== undefined) throw damaged(`the column ${table}.${missing} is missing`)
    this.#open = new OpenTable(table, columns)
  }

  async #takeRow(open: OpenTable, cells: unknown[], line: number): Promise<void> {
    const wrong = (problem: string) => damaged(`line ${line} (${open.name}): ${problem}`)
    if (cells.length !== open.columns.length) throw wrong('the row has not as many values as columns')
    open.columns.forEach((column, i) => {
      const problem = problemOfCell(open.name, column, cells[i])
      if (problem !== undefined) throw wrong(`${column} ${problem}`)
    })
    const row = open.rowOf(cells)
    const problem = this.#problemOfNames(open.name, row) ?? open.problemOfFile(row) ?? this.#problemOfSums(open, row)
    const found = problem ?? (await problemOfRow(open.name, row, { versions: this.#versions }))
    if (found !== undefined) throw wrong(found)
    if (this.#header?.sealed && open.hasClosedSecret(cells)) throw wrong('a secret is not in the file, but others are')
    if (this.#seal) requireSound(openCells(open.name, row, this.#seal), wrong)
    open.digest(cells)
    if (open.rows > (MOST_ROWS[open.name] ?? Number.POSITIVE_INFINITY)) throw wrong('a project has fewer of these')
    if (this.#isKnown(open.name, row)) throw wrong('the row stands there twice')
    if (open.name in this.#ids) this.#ids[open.name as 'agents'].add(String(row['id']))
    if (open.name === 'schedules' && row['enabled'] === 1) this.#heirs.add(String(row['updated_by']))
    if (open.name === 'versions') this.#versions.add(versionName(row))
    if (open.name === 'keys' || open.name === 'earlier_secrets') this.#hashes.add(String(row['hash']))
    if (open.rows % TELL_EVERY === 0) this.#tell(open.name, open.rows)
  }

  #isKnown(table: CarriedName, { id, hash }: FileRecord): boolean {
    if (table in this.#ids && this.#ids[table as 'agents'].has(String(id))) return true
    return (table === 'keys' || table === 'earlier_secrets') && this.#hashes.has(String(hash))
  }

  /** Checks references, because a row could refer to rows of other projects and the database wouldn't notice. */
  #problemOfNames(table: CarriedName, row: FileRecord): string | undefined {
    const { names = {}, by } = carriedTable(table)
    const own = Object.hasOwn(row, 'agent_seq') && by !== 'project' ? { agent_seq: 'agents' as const } : {}
    for (const [column, of] of Object.entries({ ...names, ...own })) {
      const id = row[column] ?? null
      if (id !== null && !this.#ids[of].has(String(id))) return `${column} names none of the ${of} in the file`
    }
    return undefined
  }

  #problemOfSums(open: OpenTable, row: FileRecord): string | undefined {
    if (carriedTable(open.name).part !== 'usage' && carriedTable(open.name).part !== 'metrics') return undefined
    const tooMuch = Object.entries(row).find(([column, value]) => {
      if (typeof value !== 'number' || column === 'start' || factsOf(open.name)[column]?.format === 'time') return false
      const sum = (open.sums.get(column) ?? 0) + value
      open.sums.set(column, sum)
      return value < 0 || sum > MOST_IN_ALL
    })
    return tooMuch && `${tooMuch[0]} is too large, or less than 0`
  }

  #endTable(open: OpenTable, { table, rows, sha256 }: FileLine & { kind: 'end' }): void {
    open.closeBlob()
    if (table !== open.name || rows !== open.rows || sha256 !== open.hash.digest('hex')) {
      throw damaged(`the rows of ${open.name} are not those that were written`)
    }
    this.#tables.push({ table, rows, sha256 })
    this.#tell(table, rows)
    this.#open = undefined
  }

  #close({ line, sha256 }: FileLine & { kind: 'last' }): void {
    if (this.#open) throw damaged(`${this.#open.name} has no end`)
    const stranger = this.#heirs.values().find((id) => id !== 'local' && !this.#ids.keys.has(id))
    if (stranger !== undefined)
      throw damaged(`a schedule runs with the rights of ${stranger}, which is not in the file`)
    this.#end = { sha256, lines: line }
  }
}

const TELL_EVERY = 1_000

/** A table whose rows are being read. */
class OpenTable {
  readonly name: CarriedName
  readonly columns: string[]
  readonly hash = createHash('sha256')
  readonly sums = new Map<string, number>()
  readonly #sealed: readonly string[]
  rows = 0
  #blob: { sha256: string; size: number; left: number; hash: ReturnType<typeof createHash> } | undefined

  constructor(name: CarriedName, columns: string[]) {
    this.name = name
    this.columns = columns
    this.#sealed = Object.keys(carriedTable(name).sealed ?? {})
  }

  rowOf(cells: unknown[]): FileRecord {
    return Object.fromEntries(this.columns.map((column, i) => [column, cells[i] as FileValue]))
  }

  /** Whether a secret was left out; `true` means that it was. A file contains either all secrets or none. */
  hasClosedSecret(cells: unknown[]): boolean {
    return cells.some((cell, i) => cell === true && this.#sealed.includes(this.columns[i] ?? ''))
  }

  digest(cells: unknown[]): void {
    const shown = cells.map((cell, i) => (cell !== null && this.#sealed.includes(this.columns[i] ?? '') ? true : cell))
    this.rows++
    this.hash.update(`${JSON.stringify(shown)}\n`)
  }

  takeBytes(said: FileLine): void {
    if (this.name !== 'files') throw damaged(`line ${said.line} has bytes where no files are`)
    if (said.kind === 'blob') {
      this.closeBlob()
      this.#blob = { sha256: said.sha256, size: said.size, left: said.size, hash: createHash('sha256') }
    } else if (said.kind === 'bytes' && this.#blob) {
      this.#blob.left -= said.piece.length
      this.#blob.hash.update(said.piece)
    } else if (said.kind === 'cut' && said.sha256 === this.#blob?.sha256) this.#blob = undefined
    else throw damaged(`line ${said.line} can't be read`)
  }

  closeBlob(): void {
    if (this.#blob && (this.#blob.left !== 0 || this.#blob.hash.copy().digest('hex') !== this.#blob.sha256)) {
      throw damaged('the bytes of a file are not those that were written')
    }
  }

  /** A file's bytes come before it. */
  problemOfFile({ sha256, size }: FileRecord): string | undefined {
    if (this.name !== 'files') return undefined
    return sha256 === this.#blob?.sha256 && size === this.#blob?.size ? undefined : 'the file has other bytes'
  }
}

function ofNewer(what: string): TransferFileError {
  return new TransferFileError(
    `The file has ${what}, which this version of Moorage doesn't know. Import it with the version that wrote it, or a newer one.`,
  )
}
