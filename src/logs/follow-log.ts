import { type SelectQueryBuilder, sql } from 'kysely'
import { invalid } from '../errors.ts'
import type { Keyring } from '../security/keyring.ts'
import { readable } from '../storage/damaged-rows.ts'
import { type Database, engineOf } from '../storage/database.ts'
import type { Page } from '../storage/queries/page.ts'
import type { LogsQuery, StoredLogEntry } from './log-entry.ts'
import { firstOfPage, fromRow, isFound, LOG_COLUMNS, type LogRow, numbersOf } from './store.ts'

/** A request checks at most this many entries of all agents. */
const FOLLOWED_ENTRIES = 10_000

type FollowQuery = LogsQuery & { after: string }

/**
 * Entries in the order in which they were stored; each is sent once, and no request waits for an active transaction.
 * What such a transaction stores is sent after its commit.
 */
export async function followLog(
  db: Database,
  agent_seq: number,
  query: FollowQuery,
  keyring: Keyring,
): Promise<Page<StoredLogEntry>> {
  const end = await findEnd(db)
  const from = query.after === 'latest' ? end : readPosition(query.after, keyring)
  const looked = selectBetween(db, from, end).orderBy('transaction').orderBy('id').limit(FOLLOWED_ENTRIES)
  const found = filtered(db.selectFrom(looked.as('looked')), db, agent_seq, query)
  const [rows, edge] = await Promise.all([
    found
      .selectAll()
      .orderBy('transaction')
      .orderBy('id')
      .limit(query.limit + 1)
      .execute(),
    looked
      .limit(1)
      .offset(FOLLOWED_ENTRIES - 1)
      .executeTakeFirst(),
  ])
  const items = firstOfPage(rows.slice(0, query.limit))
  const isCut = items.length < rows.length
  const last = isCut ? items.at(-1) : edge
  const after = writePosition(last ? positionBehind(last, from, end) : end, keyring)
  const total = isCut ? await countRows(found) : rows.length
  return { items: readable(db, items, fromRow), total, next: { after, more: last !== undefined } }
}

type LogLookup = { looked: LogRow & LogKey & { agent_seq: number } }

function filtered(
  select: SelectQueryBuilder<LogLookup, 'looked', unknown>,
  db: Database,
  agent_seq: number,
  query: LogsQuery,
) {
  let found = select.where('agent_seq', '=', agent_seq).where('level', 'in', numbersOf(query))
  if (query.start_time !== undefined) found = found.where('timestamp', '>=', query.start_time)
  if (query.end_time !== undefined) found = found.where('timestamp', '<', query.end_time)
  if (query.request_id !== undefined) found = found.where('request_id', '=', query.request_id)
  return query.search === undefined ? found : found.where(isFound(db, query.search))
}

async function countRows(found: SelectQueryBuilder<LogLookup, 'looked', unknown>): Promise<number> {
  const { count } = await found.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  return Number(count)
}

/** After everything that is visible now. SQLite has one writer, so each entry is treated as its own transaction. */
async function findEnd(db: Database): Promise<LogPosition> {
  if (engineOf(db) === 'sqlite') {
    const { id } = await db
      .selectFrom('logs')
      .select(({ fn }) => fn.max<number | null>('id').as('id'))
      .executeTakeFirstOrThrow()
    return { next: (id ?? 0) + 1, open: [] }
  }
  // `<the first that is open>:<the next one>:<those that are open, with commas>`
  const { rows } = await sql<{ snapshot: string }>`select pg_current_snapshot()::text as snapshot`.execute(db)
  const [, next = 0, open = ''] = rows[0]?.snapshot.split(':') ?? []
  return { next: Number(next), open: open === '' ? [] : open.split(',').map(Number) }
}

/** Entries that `end` shows and `from` has not read. */
function selectBetween(db: Database, from: LogPosition, end: LogPosition) {
  const transaction = sql<number>`${sql.ref(engineOf(db) === 'sqlite' ? 'id' : 'written_in')}`
  const { next, open, read } = from
  let select = db
    .selectFrom('logs')
    .select([...LOG_COLUMNS, 'agent_seq', transaction.as('transaction')])
    .where(transaction, '>=', Math.min(next, ...open))
    .where(transaction, '<', end.next)
  if (open.length > 0) select = select.where((eb) => eb.or([eb(transaction, '>=', next), eb(transaction, 'in', open)]))
  if (end.open.length > 0) select = select.where(transaction, 'not in', end.open)
  if (!read) return select
  return select.where((eb) => eb.or([eb(transaction, '!=', read.transaction), eb('id', '>', read.id)]))
}

/**
 * For the start of a service. The entries of a restored database name transactions of their original server, which may
 * have higher numbers than any here: followers would receive them as new.
 */
export async function adoptRestored(db: Database): Promise<void> {
  if (engineOf(db) === 'sqlite') return
  const { next } = await findEnd(db)
  await db.updateTable('logs').set({ written_in: 0 }).where('written_in', '>=', next).execute()
}

/**
 * A follower's position in a log. Entries become visible when their transaction commits, not in the order of their IDs,
 * so a position says which transactions it has read: all below `next` except those in `open`, which hadn't ended.
 * `read` is present if a page ended within a transaction: its entries up to `id` have been read.
 */
type LogPosition = { next: number; open: readonly number[]; read?: LogKey | undefined }

/** An entry, and the transaction that stored it. */
type LogKey = { transaction: number; id: number }

const PURPOSE = 'log position'

/** Encrypted, because its numbers would reveal how much is stored for others. */
function writePosition(position: LogPosition, keyring: Keyring): string {
  return keyring.encrypt(JSON.stringify(position), PURPOSE)
}

export function readPosition(text: string, keyring: Keyring): LogPosition {
  try {
    return JSON.parse(keyring.decrypt(text, PURPOSE))
  } catch {
    throw invalid({ field: 'after', error: 'must be `latest`, or next_after from an earlier reply' })
  }
}

/** The position behind an entry, when what `end` shows after `from` has been read as far as this entry. */
function positionBehind({ transaction, id }: LogKey, from: LogPosition, end: LogPosition): LogPosition {
  // The entry itself may be long, and a position is a part of a URL.
  const read = { transaction, id }
  // The entry was late: it belongs to a transaction that was open before.
  if (transaction < from.next) {
    const open = from.open.filter((one) => one >= transaction || end.open.includes(one))
    return { next: from.next, open, read }
  }
  return { next: transaction, open: end.open.filter((one) => one < transaction), read }
}
