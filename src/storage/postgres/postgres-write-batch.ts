import { hash } from 'node:crypto'
import { type DialectAdapter, sql } from 'kysely'
import { wellFormedJson } from '../../lib/json.ts'
import type { Database } from '../database.ts'
import { isDuplicate } from '../failures.ts'
import { type Batch, type BulkTable, conflictOf, type EndedTable, namesOf } from '../journal/rows.ts'
import { LOST_LEASE_CODE } from './lost-lease.ts'
import { connect, type PostgresPool } from './postgres.ts'

/**
 * Writes each batch as one statement, which is its own transaction. It takes one message, no matter how many tables it
 * writes to. Returns false if a lease of the batch was lost. Then nothing is written.
 */
export function postgresBatches(pool: PostgresPool, ownsSessions: () => boolean) {
  const numbers = new Map<BulkTable | EndedTable, number>()
  const statements = new Map<string, { name: string; text: string }>()
  const numberOf = (table: BulkTable | EndedTable) => {
    const number = numbers.get(table) ?? numbers.size
    numbers.set(table, number)
    return number
  }

  /** There are few kinds of batches and so few statements. Each has a name, so a connection plans it only once. */
  const prepare = async (db: Database, batch: Batch) => {
    const ended = batch.endings.map(({ of }) => numberOf(of)).join()
    const id = `${ended} ${batch.inserts.map(({ into }) => numberOf(into)).join()}`
    const known = statements.get(id)
    if (known) return known
    const text = await batchText(db, batch)
    const statement = { name: `moorage_${hash('sha256', text).slice(0, 32)}`, text }
    statements.set(id, statement)
    return statement
  }

  return async (db: Database, batch: Batch): Promise<boolean> => {
    const { name, text } = await prepare(db, batch)
    // Behind a pooler in transaction mode, the next connection may not know the name yet, or may already use it.
    const statement = ownsSessions() ? { name, text } : { text }
    const values = [...batch.endings, ...batch.inserts].map(({ rows }) => wellFormedJson(rows))
    const client = await connect(pool)
    let isBroken = true
    try {
      await client.query({ ...statement, values })
      isBroken = false
      return true
    } catch (error) {
      const isLost = (error as { code?: unknown }).code === LOST_LEASE_CODE
      isBroken = !isLost && !isDuplicate(error)
      if (!isLost) throw error
      return false
    } finally {
      client.release(isBroken)
    }
  }
}

/**
 * The statement's parts are table expressions: first the leases that end, then the inserts. The statement undoes itself
 * if one of the leases was lost. A table's rows are passed as one JSON text, which costs this process much less than
 * the driver's arrays.
 */
export async function batchText(db: Database, batch: Batch): Promise<string> {
  const parts: string[] = []
  const held: string[] = []
  // PostgreSQL runs the parts of a statement in any order, but a part that reads another part's result runs after it.
  const runsAfter = (part: string) => `(select count(*) from ${part}) >= 0`
  for (const [i, { of }] of batch.endings.entries()) {
    const rows = `$${i + 1}::jsonb`
    parts.push(`held${i} as (${await endingText(db, of, rows)} returning 1)`)
    held.push(`(select count(*) from held${i}) = jsonb_array_length(${rows})`)
    if (of.drops) parts.push(`dropped${i} as (${dropText(of.drops, of, rows)})`)
    if (of.next) parts.push(`next${i} as (${nextText(of.next, of, rows)} and ${runsAfter(`held${i}`)})`)
  }
  let before: string | undefined
  for (const [i, { into }] of batch.inserts.entries()) {
    const conditions: string[] = []
    // Nodes that add to the same rows must lock them in the same order, or they could deadlock.
    if (into.merge && before) conditions.push(runsAfter(before))
    if (into.merge) before = `insert${i}`
    const locked = batch.inserts.findIndex((other) => other.into === into.after)
    if (locked >= 0) conditions.push(runsAfter(`insert${locked}`))
    parts.push(`insert${i} as (${await insertText(db, into, batch.endings.length + i + 1, conditions)} returning 1)`)
  }
  const isHeld = held.length > 0 ? `case when ${held.join(' and ')} then true else lost_lease() end` : 'true'
  return `with ${parts.join(', ')} select ${isHeld} as held`
}

/**
 * The rows of a batch whose keys are looked up. The condition is always true, but PostgreSQL assumes that it rarely is,
 * so it looks up the rows one by one, by key. If it expected many rows and had no statistics for the table yet, it
 * would read the whole table in every commit.
 */
function keyedRows(rows: string): string {
  return `(select r from jsonb_array_elements(${rows}) r where jsonb_typeof(r) = 'array') keyed(r)`
}

/** Changes or deletes the rows whose leases are held. */
async function endingText(db: Database, of: EndedTable, rows: string): Promise<string> {
  const { table, key, columns, condition } = of
  const types = await columnTypes(db, table)
  const valueAt = (name: string, i: number) => `(r ->> ${i})::${types.get(name)}`
  const after = columns?.length ?? 0
  const matches = [...key, 'owner'].map((name, i) => `t."${name}" = ${valueAt(name, after + i)}`)
  const sets = columns?.map((name, i) => `"${name}" = ${valueAt(name, i)}`).join(', ')
  const change = sets ? `update "${table}" t set ${sets} from` : `delete from "${table}" t using`
  return `${change} ${keyedRows(rows)} where ${[...matches, condition].join(' and ')}`
}

function dropText(drops: Required<EndedTable>['drops'], { columns = [] }: EndedTable, rows: string): string {
  return `delete from "${drops.table}" t using ${keyedRows(rows)} where t."${drops.column}" = r ->> ${columns.length}`
}

function nextText(next: Required<EndedTable>['next'], of: EndedTable, rows: string): string {
  const { table, key, columns = [] } = of
  const which = next.which(`r ->> ${columns.length + key.length + 1}`)
  return `update "${table}" t set ${next.set} from (select (${which}) as id from ${keyedRows(rows)}) n where t.id = n.id`
}

/** `conditions` are true either for all rows or for none. */
export async function insertText(
  db: Database,
  into: BulkTable,
  parameter = 1,
  conditions: readonly string[] = [],
): Promise<string> {
  const types = await columnTypes(db, into.table)
  const values = into.columns.map((column, i) => `(r ->> ${i})::${types.get(column)}`).join(', ')
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  return `insert into "${into.table}" (${namesOf(into)}) select ${values} from jsonb_array_elements($${parameter}::jsonb) r${where}${conflictOf(into)}`
}

/**
 * The columns' types, because JSON has none. They are read from the database's catalog and don't change while a node
 * runs.
 */
const typesOf = new WeakMap<DialectAdapter, Map<string, Map<string, string>>>()

async function columnTypes(db: Database, table: string): Promise<Map<string, string>> {
  // A database and its transactions share one adapter, which no other database has.
  const { adapter } = db.getExecutor()
  const ofTables = typesOf.get(adapter) ?? new Map<string, Map<string, string>>()
  typesOf.set(adapter, ofTables)
  const known = ofTables.get(table)
  if (known) return known
  const { rows } = await sql<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, atttypmod) as type
    from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`.execute(db)
  const types = new Map(rows.map(({ name, type }) => [name, type]))
  ofTables.set(table, types)
  return types
}
