import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database } from '../storage/database.ts'
import { type CarriedName, carriedTable, cellColumns, factsOf, orderOf } from './carried-tables.ts'

/** An agent of the exported project. */
export type AgentOfProject = { id: string; seq: number }

/** A row as it is stored, with the columns that determine its order. */
export type StoredRow = Record<string, unknown>

type Whose = { project_id: string; agents: readonly AgentOfProject[] }

/** About this many bytes are read at once. */
const READ_BYTES = 2 * 2 ** 20
const MOST_ROWS = 1_000
const FIRST_ROWS = 100

/** The rows of a table that belong to a project, in the file's order, page by page. */
export async function* readRows(db: Database, name: CarriedName, whose: Whose): AsyncGenerator<StoredRow[]> {
  const { by } = carriedTable(name)
  if (by === 'sequence') return yield* readRanges(db, name, whose)
  if (by === 'project') return yield* readPages(db, name, sql`project_id = ${whose.project_id}`)
  if (by !== 'agent') return yield* readPages(db, name, by(whose.project_id))
  for (const { id, seq } of whose.agents) {
    yield* readPages(db, name, isNumbered(name) ? sql`agent_seq = ${seq}` : sql`agent_id = ${id}`)
  }
}

function isNumbered(name: CarriedName): boolean {
  return Object.hasOwn(factsOf(name), 'agent_seq') && carriedTable(name).by !== 'project'
}

async function* readPages(
  db: Database,
  name: CarriedName,
  which: RawBuilder<SqlBool> | RawBuilder<unknown>,
): AsyncGenerator<StoredRow[]> {
  const order = orderOf(name)
  const columns = sql.join(order.map((column) => sql.ref(`${name}.${column}`)))
  let limit = FIRST_ROWS
  for (let last: unknown[] | undefined; ; ) {
    const isLater = last ? sql`and (${columns}) > (${sql.join(last)})` : sql``
    const { rows } = await sql<StoredRow>`
      select ${selected(name)} from ${sql.table(name)} where ${which} and ${conditionOf(name)} ${isLater}
      order by ${columns} limit ${limit}`.execute(db)
    if (rows.length > 0) yield rows
    if (rows.length < limit) return
    last = order.map((column) => rows.at(-1)?.[column])
    limit = nextSize(rows, limit)
  }
}

/**
 * Reads a table that contains rows of all agents mixed, by ranges of its sequence. The engines need no other index for
 * this, and a range can't have more rows than numbers.
 */
async function* readRanges(db: Database, name: CarriedName, { project_id }: Whose): AsyncGenerator<StoredRow[]> {
  const [column = ''] = orderOf(name)
  const number = sql.ref(`${name}.${column}`)
  const ofProject = sql`agent_seq in (select seq from agents where agents.project_id = ${project_id})`
  const isOfProject = isNumbered(name)
    ? ofProject
    : sql`exists (select 1 from memories where memories.seq = ${number} and memories.${ofProject})`
  const ends = await sql<{ first: number | null; last: number | null }>`
    select min(${number}) as first, max(${number}) as last from ${sql.table(name)} where ${isOfProject}`.execute(db)
  const { first, last } = ends.rows[0] ?? { first: null, last: null }
  if (first === null || last === null) return
  let size = FIRST_ROWS
  for (let from = first; from <= last; ) {
    const { rows } = await sql<StoredRow>`
      select ${selected(name)} from ${sql.table(name)}
      where ${number} >= ${from} and ${number} < ${from + size} and ${isOfProject} and ${conditionOf(name)}
      order by ${number}`.execute(db)
    from += size
    if (rows.length > 0) yield rows
    // The ranges grow where all rows belong to other projects.
    size = rows.length > 0 ? nextSize(rows, Math.min(size, MOST_ROWS)) : Math.min(size * 2, MOST_SPAN)
  }
}

const MOST_SPAN = 100_000

function conditionOf(name: CarriedName): RawBuilder<unknown> {
  return carriedTable(name).where ?? sql`1 = 1`
}

/** The columns for the file and for the order. */
function selected(name: CarriedName): RawBuilder<unknown> {
  const { memories = [] } = carriedTable(name)
  const columns = [...new Set([...cellColumns(name), ...orderOf(name)])]
  const terms = columns.map((column) =>
    memories.includes(column) && column !== orderOf(name)[0]
      ? sql`${lastMemoryUpTo(name, column)} as ${sql.ref(column)}`
      : sql.ref(`${name}.${column}`),
  )
  const own = memories.find((column) => column === orderOf(name)[0])
  return sql.join([...terms, ...(own === undefined ? [] : [sql`${memoryOf(name, own)} as ${sql.ref(MEMORY_ID)}`])])
}

/** The ID of the memory whose number is the row's key. The row keeps the number for its order. */
export const MEMORY_ID = 'memory_id'

function memoryOf(name: CarriedName, column: string): RawBuilder<unknown> {
  return sql`(select memories.id from memories where memories.seq = ${sql.ref(`${name}.${column}`)})`
}

/**
 * The memory with this number may no longer exist. The memories of the same user after the returned one are still those
 * that come after the number.
 */
function lastMemoryUpTo(name: CarriedName, column: string): RawBuilder<unknown> {
  const of = (part: string) => sql.ref(`${name}.${part}`)
  return sql`case when ${of(column)} > 0 then (
    select memories.id from memories where memories.agent_seq = ${of('agent_seq')}
      and memories.user_id = ${of('user_id')} and memories.seq <= ${of(column)}
    order by memories.seq desc limit 1) end`
}

function nextSize(rows: readonly StoredRow[], size: number): number {
  const bytes = rows.reduce((sum, row) => sum + sizeOf(row), 0)
  const fitting = Math.floor((READ_BYTES / Math.max(1, bytes)) * rows.length)
  return Math.max(1, Math.min(MOST_ROWS, size * 4, fitting))
}

function sizeOf(row: StoredRow): number {
  return Object.values(row).reduce<number>((sum, value) => {
    if (typeof value === 'string') return sum + value.length
    return sum + (value instanceof Uint8Array ? value.length : 8)
  }, 0)
}
