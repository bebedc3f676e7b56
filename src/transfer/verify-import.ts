import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Parts } from '../operation/parts.ts'
import { openSnapshot, type StoreSnapshot } from '../storage/snapshot.ts'
import { type CarriedName, carriedTable, type FileRecord, type FileValue } from './carried-tables.ts'
import { agentsOf, rowOf, shownRow } from './export-project.ts'
import type { ImportState, ReadTable } from './import-state.ts'
import { readRows, type StoredRow } from './read-rows.ts'
import { isNothingWithoutSecrets, withoutSecrets } from './target-rows.ts'

type Shown = Readonly<Record<string, FileValue | true>>

/** The rows of a table that are expected because of the file. They are counted and digested as they are read. */
class ExpectedTable {
  readonly columns: readonly string[]
  readonly #hash = createHash('sha256')
  rows = 0

  constructor(columns: readonly string[]) {
    this.columns = columns
  }

  add(row: Shown): void {
    this.rows++
    this.#hash.update(lineOf(row, this.columns))
  }

  digest(): string {
    return this.#hash.copy().digest('hex')
  }
}

/** What the target must contain after a file was imported. */
export class ExpectedRows {
  readonly #tables = new Map<CarriedName, ExpectedTable>()
  readonly #hasSecrets: boolean

  constructor(hasSecrets: boolean) {
    this.#hasSecrets = hasSecrets
  }

  begin(table: CarriedName, columns: readonly string[]): void {
    this.#tables.set(table, new ExpectedTable(columns))
  }

  add(table: CarriedName, row: FileRecord): void {
    if (!this.#hasSecrets && isNothingWithoutSecrets(table, { row, opened: undefined })) return
    this.#tables.get(table)?.add(this.#compared(table, shownRow(table, row)))
  }

  /** Reads back tables that are complete, and compares them. */
  async compare(
    { storage, config }: Pick<Parts, 'storage' | 'config'>,
    { project_id, usage_id, read }: ImportState,
    tell: (table: string, rows: number) => void,
  ): Promise<ReadTable[]> {
    const before = new Set(read.map(({ table }) => table))
    const snapshot = await openSnapshot(storage, config.data)
    try {
      const agents = await agentsOf(snapshot.db, project_id)
      const agentIds = new Map(agents.map(({ id, seq }) => [seq, id]))
      const found = [...read]
      for (const [table, expected] of this.#tables) {
        if (before.has(table)) continue
        const owner = table === 'ledger' ? usage_id : project_id
        const here = new ExpectedTable(expected.columns)
        const digest = createHash('sha256')
        for await (const page of pagesOf(snapshot, table, { project_id: owner, agents })) {
          for (const stored of page) {
            const shown = shownRow(table, rowOf(table, stored, agentIds))
            digest.update(`${JSON.stringify(Object.values(shown))}\n`)
            here.add(this.#compared(table, shown))
          }
          tell(table, here.rows)
        }
        const isEqual = here.rows === expected.rows && here.digest() === expected.digest()
        found.push({ table, rows: here.rows, sha256: digest.digest('hex'), isEqual })
      }
      return found
    } finally {
      await snapshot.close()
    }
  }

  #compared(table: CarriedName, shown: Shown): Shown {
    const { used = [] } = carriedTable(table)
    const unused = used.length === 0 ? shown : { ...shown, ...Object.fromEntries(used.map((column) => [column, null])) }
    return this.#hasSecrets ? unused : withoutSecrets(table, unused)
  }
}

function lineOf(row: Shown, columns: readonly string[]): string {
  return `${JSON.stringify(columns.map((column) => row[column] ?? null))}\n`
}

/** No index has the file's order. */
function pagesOf(snapshot: StoreSnapshot, table: CarriedName, whose: Parameters<typeof readRows>[2]) {
  if (table !== 'files') return readRows(snapshot.db, table, whose)
  return snapshot.stream<StoredRow>(sql`select * from files where project_id = ${whose.project_id} order by sha256, id`)
}
