import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Database, engineOf } from '../storage/database.ts'

const LOOK_AGAIN_MS = 5
const LOOKS = 40

/**
 * The last id such that no entry with a smaller one can still appear; undefined while that is not known. SQLite writes one
 * transaction after the other. PostgreSQL gives out ids before it commits, so those who write at this moment may hold
 * smaller ids: each of them has locked the table before it got any, until its entries can be seen.
 */
export async function findLogEnd(db: Database): Promise<number | undefined> {
  if (engineOf(db) === 'sqlite') {
    const { id } = await db
      .selectFrom('logs')
      .select(({ fn }) => fn.max<number | null>('id').as('id'))
      .executeTakeFirstOrThrow()
    return id ?? 0
  }
  const { rows } = await sql<{ end: number | null }>`
    select pg_sequence_last_value(pg_get_serial_sequence('logs', 'id')::regclass) as end`.execute(db)
  const end = Number(rows[0]?.end ?? 0)
  let writing = await listWriting(db)
  for (let look = 1; writing.length > 0 && look < LOOKS; look++) {
    await delay(LOOK_AGAIN_MS)
    const still = new Set(await listWriting(db))
    writing = writing.filter((transaction) => still.has(transaction))
  }
  return writing.length === 0 ? end : undefined
}

async function listWriting(db: Database): Promise<string[]> {
  const { rows } = await sql<{ transaction: string }>`
    select virtualtransaction as transaction from pg_locks
    where locktype = 'relation' and relation = 'logs'::regclass and mode = 'RowExclusiveLock'
      and database = (select oid from pg_database where datname = current_database())`.execute(db)
  return rows.map(({ transaction }) => transaction)
}
