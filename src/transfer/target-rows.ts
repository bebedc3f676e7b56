import { type SqlBool, sql } from 'kysely'
import { conflict } from '../errors.ts'
import type { Parts } from '../operation/parts.ts'
import type { Database } from '../storage/database.ts'
import { isDuplicate } from '../storage/failures.ts'
import { newSecret } from '../webhooks/webhook.ts'
import {
  type CarriedName,
  carriedTable,
  type FileRecord,
  type FileValue,
  factsOf,
  type Mentioned,
} from './carried-tables.ts'
import { mapSecrets, type OpenedCells } from './secrets-of-rows.ts'

/** What the target assigns to the rows of a file. */
export type Target = {
  project_id: string
  /** The ID under which the ledger's lines are stored (see `ImportState`). */
  usage_id: string
  /** The numbers of the project's agents in the target. */
  agents: ReadonlyMap<string, number>
  keyring: Parts['keyring']
}

/** A row of a file, with its secrets if they were opened. */
export type FileRow = { row: FileRecord; opened: OpenedCells | undefined }

/** The rows as the target stores them. Without secrets, rows that are useless without them are left out. */
export async function targetRows(
  db: Database,
  table: CarriedName,
  rows: readonly FileRow[],
  target: Target,
): Promise<NewRow[]> {
  const { fixed = {}, memories = [], sealed = {} } = carriedTable(table)
  const facts = factsOf(table)
  const kept = rows.filter((row) => !isNothingWithoutSecrets(table, row))
  const numbers = await numbersOf(
    db,
    target,
    kept.flatMap(({ row }) => memories.map((column) => row[column] ?? null)),
  )
  return kept.map(({ row, opened }) => {
    const cells = Object.entries(row).map(([column, value]): [string, NewRow[string]] => {
      if (column === 'agent_seq') return [column, value === null ? null : (target.agents.get(String(value)) ?? null)]
      if (memories.includes(column)) return [column, numberOf(table, numbers, value)]
      if (Object.hasOwn(sealed, column)) return [column, sealAgain(table, column, row, opened, target)]
      if (facts[column]?.kind === 'bytes') return [column, Buffer.from(String(value), 'base64')]
      return [column, value]
    })
    const own = Object.hasOwn(facts, 'project_id') ? { project_id: ownerOf(table, target) } : {}
    const stored = { ...Object.fromEntries(cells), ...fixed, ...own }
    return table === 'webhooks' && opened?.['secret'] === undefined
      ? { ...stored, ...disabledWebhook(row, target) }
      : stored
  })
}

export function isNothingWithoutSecrets(table: CarriedName, { row, opened }: FileRow): boolean {
  if (table === 'key_factors' || table === 'secrets') return Object.keys(opened ?? {}).length === 0
  return table === 'providers' && row['api_key'] !== null && opened?.['api_key'] === undefined
}

function ownerOf(table: CarriedName, { project_id, usage_id }: Target): string {
  return table === 'ledger' ? usage_id : project_id
}

/**
 * A webhook with a new secret. It is disabled, because its receiver couldn't verify any delivery until it has that
 * secret.
 */
function disabledWebhook(row: FileRecord, { keyring }: Target): NewRow {
  const { secret, secret_hint } = newSecret(keyring).sealed
  return { secret, secret_hint, ...disabled(row) }
}

function disabled({ disabled_reason = null }: Readonly<Record<string, FileValue | true>>) {
  return { status: 'disabled', disabled_reason: String(disabled_reason ?? 'requested') }
}

/** What a row of the file and its imported row have in common if secrets were left out. */
export function withoutSecrets(table: CarriedName, shown: Readonly<Record<string, FileValue | true>>) {
  const none = Object.keys(carriedTable(table).sealed ?? {}).map((column) => [column, null])
  return {
    ...shown,
    ...Object.fromEntries(none),
    ...(table === 'webhooks' && { ...disabled(shown), secret_hint: null }),
  }
}

function sealAgain(
  table: CarriedName,
  column: string,
  row: FileRecord,
  opened: OpenedCells | undefined,
  { keyring, project_id }: Target,
): string | null {
  const plain = opened?.[column]
  const purpose = carriedTable(table).sealed?.[column]?.(row, project_id) ?? ''
  if (plain === undefined) return column === 'earlier_secrets' ? '[]' : null
  return mapSecrets(column, plain, (secret) => keyring.encrypt(secret, purpose))
}

/**
 * The number of a memory in the target. A vector's memory must be in the file. For other columns it can be missing,
 * which means that no memory comes before.
 */
function numberOf(table: CarriedName, numbers: ReadonlyMap<string, number>, id: FileValue): number {
  const number = numbers.get(String(id))
  if (number === undefined && (id !== null || table === 'memory_vectors')) {
    throw new Error(`A row of ${table} in the file names a memory that is not in the file.`)
  }
  return number ?? 0
}

async function numbersOf(
  db: Database,
  { project_id }: Target,
  cells: readonly FileValue[],
): Promise<Map<string, number>> {
  const ids = [...new Set(cells.filter((id) => id !== null).map(String))]
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('memories')
    .select(['id', 'seq'])
    .where('id', 'in', ids)
    .where('agent_seq', 'in', ofProject(project_id))
    .execute()
  return new Map(rows.map(({ id, seq }) => [id, seq]))
}

const ofProject = (project_id: string) => sql<number>`(select seq from agents where agents.project_id = ${project_id})`

/** Refuses rows that refer to a row of another project, because the IDs in a file may have been chosen to reach it. */
export async function requireOwn(
  db: Database,
  table: CarriedName,
  rows: readonly FileRow[],
  target: Target,
): Promise<void> {
  const { project_id } = target
  for (const [column, of] of Object.entries(carriedTable(table).mentions ?? {})) {
    const ids = [...new Set(rows.flatMap(({ row }) => row[column] ?? []).map(String))]
    if (ids.length === 0) continue
    const { rows: others } = await sql`
      select id from ${sql.table(TABLE_OF[of])} where id in (${sql.join(ids)}) and not (${isOwn(of, project_id)})
      limit 1`.execute(db)
    if (others.length > 0)
      throw new Error(`The file names ${of} of another project (${table}.${column}). It is refused.`)
  }
  await requireReceipts(db, table, rows, target)
}

async function requireReceipts(
  db: Database,
  table: CarriedName,
  rows: readonly FileRow[],
  { project_id }: Target,
): Promise<void> {
  for (const column of carriedTable(table).receipts ?? []) {
    const ids = [...new Set(rows.map(({ row }) => String(row[column])))]
    if (ids.length === 0) continue
    const found = await db
      .selectFrom('invocations')
      .select('id')
      .where('id', 'in', ids)
      .where('agent_seq', 'in', ofProject(project_id))
      .execute()
    if (found.length < ids.length)
      throw new Error(`A row of ${table} in the file names an invocation that is not in the file.`)
  }
}

const TABLE_OF = {
  agents: 'agents',
  runs: 'all_invocations',
  files: 'files',
  schedules: 'schedules',
  memories: 'memories',
} as const satisfies Record<Mentioned, string>

function isOwn(of: Mentioned, project_id: string) {
  if (of === 'agents' || of === 'files') return sql<SqlBool>`project_id = ${project_id}`
  if (of === 'schedules')
    return sql<SqlBool>`agent_id in (select agents.id from agents where project_id = ${project_id})`
  return sql<SqlBool>`agent_seq in ${ofProject(project_id)}`
}

/**
 * The IDs of lines that this service's ledger already contained. They stay as they are and aren't counted again.
 * Refuses lines that have such an ID but different values.
 */
export async function knownLines(db: Database, rows: readonly FileRow[], { usage_id }: Target): Promise<Set<string>> {
  const ids = rows.map(({ row }) => String(row['id']))
  if (ids.length === 0) return new Set()
  const found = await db.selectFrom('ledger').selectAll().where('id', 'in', ids).execute()
  const known = new Map(found.filter(({ project_id }) => project_id !== usage_id).map((line) => [line.id, line]))
  for (const { row } of rows) {
    const line = known.get(String(row['id']))
    if (line === undefined || isSameLine(row, line)) continue
    throw conflict(
      `The ledger of this service has ${row['id']} already, with other values. Export the project again without usage.`,
    )
  }
  return new Set(known.keys())
}

/** Compares without the agent's number, which differs, and without a user who was erased here. */
function isSameLine(row: FileRecord, line: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(row).every(
    ([column, value]) =>
      column === 'agent_seq' || value === line[column] || (column === 'user_id' && line[column] === null),
  )
}

/** A row as it will be stored. */
export type NewRow = Readonly<Record<string, string | number | Uint8Array | null>>

/** Rows with these IDs or keys are already in the store. */
export class RowsExistError extends Error {
  constructor(table: CarriedName) {
    super(`Rows of ${table} in the file exist already in this service.`)
  }
}

/**
 * Inserts rows, and compares what the database then contains with what it was given. All rows have the same columns.
 */
export async function insertRows(db: Database, table: CarriedName, rows: readonly NewRow[]): Promise<void> {
  const [first] = rows
  if (!first) return
  const columns = Object.keys(first)
  const names = sql.join(columns.map((column) => sql.ref(column)))
  const values = rows.map((row) => sql`(${sql.join(columns.map((column) => row[column] ?? null))})`)
  try {
    const { rows: stored } = await sql<NewRow>`
      insert into ${sql.table(table)} (${names}) values ${sql.join(values)} returning ${names}`.execute(db)
    if (!isSame(columns, rows, stored)) throw new Error(`the database has stored other rows of ${table}`)
  } catch (error) {
    throw isDuplicate(error) ? new RowsExistError(table) : error
  }
}

/** How many rows can be inserted at once, because both engines limit the parameters of a statement. */
export function mostRows(columns: number): number {
  return Math.min(MOST_ROWS, Math.floor(MOST_PARAMETERS / Math.max(1, columns)))
}

const MOST_ROWS = 250
const MOST_PARAMETERS = 30_000

/** The engines may return rows in a different order than they were given. */
function isSame(columns: readonly string[], given: readonly NewRow[], stored: readonly NewRow[]): boolean {
  const lines = (rows: readonly NewRow[]) =>
    rows.map((row) => JSON.stringify(columns.map((column) => textOfBytes(row[column] ?? null)))).toSorted()
  const [a, b] = [lines(given), lines(stored)]
  return a.length === b.length && a.every((line, i) => line === b[i])
}

function textOfBytes(value: string | number | Uint8Array | null): string | number | null {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
}
