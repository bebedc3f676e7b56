import { sql } from 'kysely'
import type { StoredFile } from '../files/file.ts'
import { find as findFile } from '../files/store.ts'
import { statusOf } from '../keys/key.ts'
import { version } from '../lib/version.ts'
import { eventOfHost } from '../operation/audit-trail.ts'
import type { Parts } from '../operation/parts.ts'
import * as pauses from '../pauses/store.ts'
import * as projects from '../projects/store.ts'
import { type SealText, sealFor } from '../security/sealed-box.ts'
import { MissingBytesError } from '../storage/bytes/byte-store.ts'
import type { Database } from '../storage/database.ts'
import { openSnapshot, type StoreSnapshot } from '../storage/snapshot.ts'
import {
  type CarriedName,
  carriedNames,
  carriedTable,
  cellColumns,
  type FileRecord,
  type FileValue,
  factsOf,
  placeOf,
} from './carried-tables.ts'
import { addTo, filesToCarry, type LeftBehind, listLeftOut, type NamedList, newList } from './left-out.ts'
import { type AgentOfProject, MEMORY_ID, readRows, type StoredRow } from './read-rows.ts'
import { mapSecrets } from './secrets-of-rows.ts'
import { PIECE_BYTES, type TableDigest, TransferWriter } from './transfer-file.ts'
import type { TransferPart } from './transfer-parts.ts'

export type ExportWishes = {
  project: string
  with: readonly TransferPart[]
  /** The recipient for whom secrets are sealed. Without it, they are left out. */
  recipient?: string | undefined
  /** Whether to leave out files whose bytes are missing, instead of failing. */
  allowMissing?: boolean | undefined
}

export type ExportReport = {
  project: { id: string; name: string; paused: boolean }
  tables: TableDigest[]
  left_out: LeftBehind[]
  /** Schedules that will run with the rights of the operator who imports them, because their key isn't exported. */
  heirs: NamedList
  sha256: string
}

export type TellProgress = (table: string, rows: number) => void

type ExportNeeds = Pick<Parts, 'audit' | 'bytes' | 'config' | 'keyring' | 'newId' | 'now' | 'storage'>

type Exporting = {
  db: Database
  snapshot: StoreSnapshot
  parts: ExportNeeds
  project_id: string
  agents: AgentOfProject[]
  writer: TransferWriter
  wishes: ExportWishes
  seal: SealText | undefined
  agentIds: ReadonlyMap<number, string>
  /** Schedules that will run with the rights of the target's operator. */
  heirs: NamedList
  tell: TellProgress
  now: number
}

/** Writes a project as it is at this moment, and returns what was written. `write` receives the text line by line. */
export async function exportProject(
  parts: ExportNeeds,
  wishes: ExportWishes,
  write: (text: string) => Promise<void>,
  tell: TellProgress,
): Promise<ExportReport> {
  const { audit, config, now, storage } = parts
  const { id: project_id } = await projects.get(storage.db, wishes.project)
  const exported = { action: 'exportProject', project_id, target: project_id, outcome: 'success' } as const
  const fields = [...wishes.with]
  await storage.transaction((db) => audit.record(db, eventOfHost(parts, { ...exported, fields })))
  const sealing = wishes.recipient === undefined ? undefined : sealFor(wishes.recipient)
  const snapshot = await openSnapshot(storage, config.data)
  try {
    const { db } = snapshot
    const project = await projects.get(db, project_id)
    const writer = new TransferWriter(write)
    const { name, description, limits, created_at } = project
    await writer.header({
      version,
      created_at: now(),
      project: { name, description, limits, created_at },
      with: [...wishes.with],
      sealed: sealing?.envelope ?? null,
    })
    const agents = await agentsOf(db, project_id)
    const agentIds = new Map(agents.map(({ id, seq }) => [seq, id]))
    const heirs = newList()
    const seal = sealing?.seal
    const exporting = {
      db,
      snapshot,
      parts,
      project_id,
      agents,
      agentIds,
      heirs,
      writer,
      wishes,
      seal,
      tell,
      now: now(),
    }
    let missing: MissingFiles = { lost: newList(), deleted: newList() }
    for (const table of carriedNames(wishes.with)) {
      await writer.begin(table, cellColumns(table))
      if (table === 'files') missing = await writeFiles(exporting)
      else await writeTable(exporting, table)
      await writer.end()
    }
    const sha256 = await writer.finish()
    const left_out = await listLeftOut(db, exporting, missing)
    const paused = (await pauses.find(db, project_id)) !== undefined
    return { project: { id: project_id, name, paused }, tables: writer.tables, left_out, heirs, sha256 }
  } finally {
    await snapshot.close()
  }
}

export function agentsOf(db: Database, project_id: string): Promise<AgentOfProject[]> {
  const agents = db.selectFrom('agents').select(['id', 'seq']).where('project_id', '=', project_id)
  return agents.orderBy('seq').execute()
}

async function writeTable(exporting: Exporting, table: CarriedName): Promise<void> {
  let rows = 0
  for await (const page of readRows(exporting.db, table, exporting)) {
    for (const row of table === 'schedules' ? await withHeirs(exporting, page) : page)
      await writeRow(exporting, table, row)
    rows += page.length
    exporting.tell(table, rows)
  }
}

async function writeRow(exporting: Exporting, table: CarriedName, stored: StoredRow): Promise<void> {
  const { agentIds, project_id, parts, seal, writer } = exporting
  const row = rowOf(table, stored, agentIds)
  const shown = shownRow(table, row)
  const cells = { ...shown }
  for (const [column, purposeOf] of Object.entries(carriedTable(table).sealed ?? {})) {
    if (!seal || shown[column] !== true) continue
    const open = (text: string) => parts.keyring.decrypt(text, purposeOf(row, project_id))
    cells[column] = seal(mapSecrets(column, String(row[column]), open), placeOf(table, column, row))
  }
  await writer.row(Object.values(cells), Object.values(shown))
}

export function rowOf(table: CarriedName, stored: StoredRow, agentIds: ReadonlyMap<number, string>): FileRecord {
  return Object.fromEntries(cellColumns(table).map((column) => [column, cellOf(table, column, stored, agentIds)]))
}

/**
 * A row as digests include it. A secret is replaced with `true`, because it's sealed differently each time and might be
 * missing in the file.
 */
export function shownRow(table: CarriedName, row: FileRecord): Record<string, FileValue | true> {
  const { sealed = {} } = carriedTable(table)
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => {
      // A webhook's earlier secrets are a list.
      const isSecret = Object.hasOwn(sealed, column) && value !== null && value !== '[]'
      return [column, isSecret ? true : Object.hasOwn(sealed, column) ? null : value]
    }),
  )
}

/** The actor of the command line on the server, which has all permissions. */
const LOCAL = 'local'

function cellOf(table: CarriedName, column: string, row: StoredRow, agentIds: ReadonlyMap<number, string>): FileValue {
  const value = row[column]
  if (column === 'agent_seq') return value === null ? null : (agentIds.get(Number(value)) ?? null)
  if (carriedTable(table).memories?.includes(column)) return (row[MEMORY_ID] ?? value ?? null) as FileValue
  if (factsOf(table)[column]?.kind === 'bytes') return Buffer.from(value as Uint8Array).toString('base64')
  return value as FileValue
}

/**
 * A schedule runs with the rights of the key that last changed it. If that key isn't exported but is still valid, the
 * schedule will run in the target with the rights of the operator who imports it. If the key is no longer valid, the
 * schedule is disabled, as its next tick would do.
 */
async function withHeirs({ db, project_id, heirs, now }: Exporting, rows: StoredRow[]): Promise<StoredRow[]> {
  const ids = [...new Set(rows.map((row) => String(row['updated_by'])))]
  const found = await db.selectFrom('keys').selectAll().where('id', 'in', ids).execute()
  const keys = new Map(found.map((key) => [key.id, key]))
  return rows.map((row) => {
    const key = keys.get(String(row['updated_by']))
    if (row['updated_by'] === LOCAL || row['enabled'] === 0) return row
    const isHere = key !== undefined && (key.project_id ?? project_id) === project_id
    const status = isHere ? statusOf(key, now) : 'revoked'
    if (status !== 'active') return { ...row, enabled: 0, disabled_reason: `key_${status}`, next_at: null, parked: 0 }
    if (key?.project_id === project_id && key.person_id === null && key.role_source === null) return row
    addTo(heirs, String(row['id']))
    return { ...row, updated_by: LOCAL }
  })
}

/**
 * Writes the bytes of files, each only once, with the files that have them. Bytes aren't part of the snapshot: a client
 * may delete a file, or the file may expire, before its bytes are read. Returns which files are missing for that
 * reason, and which for other reasons.
 */
async function writeFiles(exporting: Exporting): Promise<MissingFiles> {
  const { project_id, snapshot, tell, wishes, now } = exporting
  const missing = { lost: newList(), deleted: newList() }
  let rows = 0
  let content = { sha256: '', isWritten: false }
  for await (const page of snapshot.stream<StoredFile>(sql`
    select * from files where project_id = ${project_id} and ${filesToCarry(wishes.with, now)}
    order by sha256, id`)) {
    for (const file of page) {
      if (file.sha256 !== content.sha256) {
        content = { sha256: file.sha256, isWritten: await writeBytes(exporting, file) }
      }
      if (!content.isWritten) await addMissing(exporting, file, missing)
      else {
        await writeRow(exporting, 'files', file)
        rows++
      }
    }
    tell('files', rows)
  }
  return missing
}

type MissingFiles = { lost: NamedList; deleted: NamedList }

/** Returns whether all bytes could be read. If not, the file says that the bytes written before are incomplete. */
async function writeBytes({ db, parts, project_id, writer }: Exporting, file: StoredFile): Promise<boolean> {
  const { sha256, size } = file
  const read = async (blob: StoredFile) => {
    await writer.blob(sha256, size)
    try {
      for await (const piece of parts.bytes.read(blob, { start: 0, end: size - 1 })) {
        for (let start = 0; start < piece.length; start += PIECE_BYTES) {
          await writer.bytes(piece.subarray(start, start + PIECE_BYTES))
        }
      }
      return true
    } catch (error) {
      if (!(error instanceof MissingBytesError)) throw error
      await writer.cut(sha256)
      return false
    }
  }
  if (await read(file)) return true
  // An agent that was moved from another project may have brought a second blob with the same bytes.
  const others = db.selectFrom('files').selectAll().where('project_id', '=', project_id).where('sha256', '=', sha256)
  const second = await others.where('blob_id', '<>', file.blob_id).limit(1).executeTakeFirst()
  return second !== undefined && read(second)
}

/** Records a file without bytes: as lost if it still exists, or as deleted if it was deleted after the export began. */
async function addMissing({ parts, project_id, wishes }: Exporting, { id }: StoredFile, missing: MissingFiles) {
  const named = { project_id, id, except: [] }
  if ((await findFile(parts.storage.db, named, parts.now())) === undefined) return addTo(missing.deleted, id)
  if (wishes.allowMissing) return addTo(missing.lost, id)
  throw new Error(
    `The bytes of ${id} are missing or altered. Restore them from a backup, delete the file, or export the rest with --allow-missing.`,
  )
}
