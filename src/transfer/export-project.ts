import { statusOf } from '../keys/key.ts'
import { version } from '../lib/version.ts'
import { eventOfHost } from '../operation/audit-trail.ts'
import type { Parts } from '../operation/parts.ts'
import * as pauses from '../pauses/store.ts'
import * as projects from '../projects/store.ts'
import { type SealText, sealFor } from '../security/sealed-box.ts'
import { MissingBytesError } from '../storage/bytes/byte-store.ts'
import type { Database } from '../storage/database.ts'
import { openSnapshot } from '../storage/snapshot.ts'
import type { Tables } from '../storage/tables.ts'
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
import { filesToCarry, type LeftBehind, listLeftOut } from './left-out.ts'
import { type AgentOfProject, MEMORY_ID, readRows, type StoredRow } from './read-rows.ts'
import { PIECE_BYTES, type TableDigest, TransferWriter } from './transfer-file.ts'
import type { TransferPart } from './transfer-parts.ts'

export type ExportWishes = {
  project: string
  with: readonly TransferPart[]
  /** For whom secrets are sealed. Without it they are left out. */
  recipient?: string | undefined
  /** Files whose bytes are missing are left out. */
  allowMissing?: boolean | undefined
}

export type ExportReport = {
  project: { id: string; name: string; paused: boolean }
  tables: TableDigest[]
  left_out: LeftBehind[]
  /** Schedules that will run with the rights of the operator who imports them, because their key stays. */
  heirs: string[]
  sha256: string
}

export type TellProgress = (table: string, rows: number) => void

type ExportNeeds = Pick<Parts, 'audit' | 'bytes' | 'config' | 'keyring' | 'newId' | 'now' | 'storage'>

type Exporting = {
  db: Database
  parts: ExportNeeds
  project_id: string
  agents: AgentOfProject[]
  writer: TransferWriter
  wishes: ExportWishes
  seal: SealText | undefined
  agentIds: ReadonlyMap<number, string>
  /** Schedules that will run with the rights of the operator of the target. */
  heirs: string[]
  tell: TellProgress
  now: number
}

/** Writes a project as it is at this moment, and says what it has written. `write` is given the text, line by line. */
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
    const agents = await db
      .selectFrom('agents')
      .select(['id', 'seq'])
      .where('project_id', '=', project_id)
      .orderBy('seq')
      .execute()
    const agentIds = new Map(agents.map(({ id, seq }) => [seq, id]))
    const heirs: string[] = []
    const seal = sealing?.seal
    const exporting = { db, parts, project_id, agents, agentIds, heirs, writer, wishes, seal, tell, now: now() }
    const lost: string[] = []
    for (const table of carriedNames(wishes.with)) {
      await writer.begin(table, cellColumns(table))
      if (table === 'files') lost.push(...(await writeFiles(exporting)))
      else await writeTable(exporting, table)
      await writer.end()
    }
    const sha256 = await writer.finish()
    const left_out = await listLeftOut(db, exporting, lost)
    const paused = (await pauses.find(db, project_id)) !== undefined
    return { project: { id: project_id, name, paused }, tables: writer.tables, left_out, heirs, sha256 }
  } finally {
    await snapshot.close()
  }
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

/** `true` stands for a secret that is there and not in the file, and in the digest for every secret. */
async function writeRow(exporting: Exporting, table: CarriedName, stored: StoredRow): Promise<void> {
  const { agentIds, project_id, parts, seal, writer } = exporting
  const row = Object.fromEntries(
    cellColumns(table).map((column) => [column, cellOf(table, column, stored, agentIds)]),
  ) as FileRecord
  const cells: Record<string, FileValue | true> = { ...row }
  const shown = { ...cells }
  for (const [column, purposeOf] of Object.entries(carriedTable(table).sealed ?? {})) {
    const value = row[column] ?? null
    const open = (text: string) => parts.keyring.decrypt(text, purposeOf(row, project_id))
    const plain = value === null ? null : openCell(column, String(value), open)
    shown[column] = plain === null ? null : true
    cells[column] = plain === null ? null : !seal ? true : seal(plain, placeOf(table, column, row))
  }
  await writer.row(Object.values(cells), Object.values(shown))
}

/** The earlier secrets of a webhook are a list. */
function openCell(column: string, value: string, open: (sealed: string) => string): string | null {
  if (column !== 'earlier_secrets') return open(value)
  const earlier = JSON.parse(value) as EarlierSecret[]
  return earlier.length === 0 ? null : JSON.stringify(earlier.map((one) => ({ ...one, secret: open(one.secret) })))
}

/** The command line on the server, which has all rights. */
const LOCAL = 'local'

type EarlierSecret = { secret: string; expires_at: number }

function cellOf(table: CarriedName, column: string, row: StoredRow, agentIds: ReadonlyMap<number, string>): FileValue {
  const value = row[column]
  if (column === 'agent_seq') return value === null ? null : (agentIds.get(Number(value)) ?? null)
  if (carriedTable(table).memories?.includes(column)) return (row[MEMORY_ID] ?? value ?? null) as FileValue
  if (factsOf(table)[column]?.kind === 'bytes') return Buffer.from(value as Uint8Array).toString('base64')
  return value as FileValue
}

/**
 * A schedule runs with the rights of the key that changed it last. If that key stays and still counts, the schedule runs in
 * the target with those of the operator who imports it. If the key counts no more, the schedule is disabled, as its next
 * tick would do.
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
    heirs.push(String(row['id']))
    return { ...row, updated_by: LOCAL }
  })
}

/** The bytes of files, each once, with the files that have them. Returns the files whose bytes are missing. */
async function writeFiles(exporting: Exporting): Promise<string[]> {
  const { db, parts, project_id, writer, wishes, tell, now } = exporting
  const lost: string[] = []
  const isWanted = filesToCarry(wishes.with, now)
  // An agent that came from another project may have brought a second blob with the same bytes.
  const stored = await db
    .selectFrom('files')
    .select(['sha256', 'size', 'blob_id'])
    .distinct()
    .where('project_id', '=', project_id)
    .where(isWanted)
    .orderBy('sha256')
    .execute()
  let rows = 0
  for (const [sha256, same] of Map.groupBy(stored, (blob) => blob.sha256)) {
    const files = await db
      .selectFrom('files')
      .selectAll()
      .where(
        'blob_id',
        'in',
        same.map(({ blob_id }) => blob_id),
      )
      .where('project_id', '=', project_id)
      .where(isWanted)
      .orderBy('id')
      .execute()
    const [first] = files
    if (!first) continue
    if (wishes.allowMissing && !(await areThere(parts, first))) {
      lost.push(...files.map(({ id }) => id))
      continue
    }
    await writer.blob(sha256, first.size)
    for await (const piece of parts.bytes.read(first, { start: 0, end: first.size - 1 })) {
      for (let start = 0; start < piece.length; start += PIECE_BYTES) {
        await writer.bytes(piece.subarray(start, start + PIECE_BYTES))
      }
    }
    for (const file of files) await writeRow(exporting, 'files', file)
    rows += files.length
    tell('files', rows)
  }
  return lost
}

/** Whether all bytes can be read, before any of them is written: a line can't be taken back. */
async function areThere({ bytes }: Pick<Parts, 'bytes'>, file: Tables['files']): Promise<boolean> {
  try {
    const pieces = bytes.read(file, { start: 0, end: file.size - 1 })
    while (!(await pieces.next()).done);
    return true
  } catch (error) {
    if (error instanceof MissingBytesError) return false
    throw error
  }
}
