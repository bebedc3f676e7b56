import { type RawBuilder, type Selectable, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import { redact, redactDeep } from '../lib/text/redact.ts'
import { storable } from '../lib/text/text.ts'
import type { LogEntry } from '../runtime/outcome.ts'
import { jsonOf, readable } from '../storage/damaged-rows.ts'
import { type Database, engineOf } from '../storage/database.ts'
import { bulkTable } from '../storage/journal/bulk-table.ts'
import type { Write } from '../storage/journal/rows.ts'
import { anyOf, removeAged } from '../storage/queries/aged-rows.ts'
import { contains } from '../storage/queries/contains.ts'
import { countAll, countOfAgents } from '../storage/queries/count-rows.ts'
import { firstFitting } from '../storage/queries/first-fitting.ts'
import { removeRowsOfMissingAgents } from '../storage/queries/missing-agents.ts'
import { longPage, orderOf, type Page, page } from '../storage/queries/page.ts'
import { removeRows } from '../storage/queries/remove-rows.ts'
import type { Tables } from '../storage/tables.ts'
import { LEVELS, type LogsQuery, type StoredLogEntry } from './log-entry.ts'

const LOGS = bulkTable('logs')
export const LOG_COLUMNS = ['id', 'timestamp', 'level', 'request_id', 'message', 'metadata'] as const
const MESSAGE_CHARACTERS = 10_000
const METADATA_CHARACTERS = 20_000

type Select<Row> = SelectQueryBuilder<Tables, 'logs', Row>

type Source = { agent_seq: number; request_id: string }

/** The entries of an agent, its model and its tools, for the journal. Secrets are removed. */
export function logWrites(source: Source, entries: readonly LogEntry[]): Write[] {
  return entries.map(({ message, metadata, ...entry }) =>
    ownLogWrite(source, { ...entry, message: redact(message), metadata: redactDeep(metadata) as LogEntry['metadata'] }),
  )
}

/** An entry of the service itself, which contains no secrets. */
export function ownLogWrite({ agent_seq, request_id }: Source, entry: LogEntry): Write {
  const { timestamp, level, message, metadata } = entry
  const said = { level: LEVELS.indexOf(level), message: shortText(message), metadata: shortJson(metadata) }
  return { into: LOGS, row: { agent_seq, request_id, timestamp, ...said } }
}

function shortText(text: string): string {
  return storable(text.length > MESSAGE_CHARACTERS ? `${text.slice(0, MESSAGE_CHARACTERS)}…` : text)
}

function shortJson(metadata: unknown): string {
  const json = JSON.stringify(metadata)
  return json.length > METADATA_CHARACTERS ? JSON.stringify({ left_out: `${json.length} characters` }) : json
}

/**
 * Newest first unless the query says otherwise; entries of the same millisecond keep the order they were written in.
 */
export async function list(db: Database, agent_seq: number, query: LogsQuery): Promise<Page<StoredLogEntry>> {
  const { items, ...rest } = await listRows(db, agent_seq, query)
  return { items: readable(db, firstOfPage(items), fromRow), ...rest }
}

/** Entries that are large together are continued on the next page. */
export function firstOfPage<Row extends LogRow>(rows: readonly Row[]): readonly Row[] {
  return firstFitting(rows, ({ message, metadata }) => message.length + metadata.length)
}

function listRows(db: Database, agent_seq: number, query: LogsQuery): Promise<Page<LogRow>> {
  const { request_id, search, level, start_time, end_time } = query
  if (search !== undefined && request_id === undefined) return searchRows(db, agent_seq, search, query)
  if (request_id !== undefined) {
    let ofRequest = within(selectOfRequests(db, agent_seq, [request_id]), query)
    if (search !== undefined) ofRequest = ofRequest.where(isFound(db, search))
    return page(db, ofRequest, query)
  }
  const isAtAnyTime = start_time === undefined && end_time === undefined
  const counted = isAtAnyTime && (level?.includes('info') ?? true) ? { total: countWithInfo(db, agent_seq, level) } : {}
  return longPage(db, within(selectLogs(db, agent_seq), query), query, { ...IN_ORDER, ...counted })
}

/** The number of `info` entries: the stored number of all entries, minus those of other levels, which have an index. */
async function countWithInfo(db: Database, agent_seq: number, level: LogsQuery['level']): Promise<number> {
  const unwanted = LEVELS.filter((name) => level && !level.includes(name))
  const others = within(selectLogs(db, agent_seq), { level: unwanted })
  const [all, left] = await Promise.all([
    countOfAgents(db, 'logs', [agent_seq]),
    unwanted.length > 0 ? countAll(others) : 0,
  ])
  return all - left
}

const IN_ORDER = { order: 'timestamp', by: ['timestamp', 'id'] } as const

type LevelAndTime = Pick<LogsQuery, 'level' | 'start_time' | 'end_time'>

function within<Row>(select: Select<Row>, { level, start_time, end_time }: LevelAndTime): Select<Row> {
  let ranged = select
  if (level) ranged = ranged.where('level', 'in', numbersOf({ level }))
  // Both engines use the index `logs_not_info` only with this condition.
  if (level && !level.includes('info')) ranged = ranged.where(sql<SqlBool>`level <> 1`)
  if (start_time !== undefined) ranged = ranged.where('timestamp', '>=', start_time)
  if (end_time !== undefined) ranged = ranged.where('timestamp', '<', end_time)
  return ranged
}

/** A search checks this many entries that pass the other filters, and finishes the millisecond that it is in. */
const SEARCHED_ENTRIES = 10_000

/**
 * An index of every word would cost each invocation more than everything else that it writes, so a search checks the
 * nearest entries. It stops between two milliseconds, so that a search of the next range finds every other entry once.
 */
async function searchRows(db: Database, agent_seq: number, text: string, query: LogsQuery): Promise<Page<LogRow>> {
  const { direction } = orderOf(query.sort)
  const select = within(selectLogs(db, agent_seq), query)
  const timeAt = async (offset: number, some: LevelAndTime) => {
    const row = await within(select, some)
      .clearSelect()
      .select('timestamp')
      .orderBy('timestamp', direction)
      .orderBy('id', direction)
      .limit(1)
      .offset(offset)
      .executeTakeFirst()
    return row?.timestamp
  }
  const found = (some: LevelAndTime) => page(db, within(select, some).where(isFound(db, text)), query)

  const last = await timeAt(SEARCHED_ENTRIES - 1, {})
  if (last === undefined) return found({})
  const edge = direction === 'desc' ? last : last + 1
  const [before, after] = [{ end_time: edge }, { start_time: edge }]
  const [near, far] = direction === 'desc' ? [after, before] : [before, after]
  const [entries, next] = await Promise.all([found(near), timeAt(0, far)])
  return { ...entries, searched_to: next === undefined ? undefined : edge }
}

function selectLogs(db: Database, agent_seq: number) {
  return db.selectFrom('logs').select(LOG_COLUMNS).where('agent_seq', '=', agent_seq)
}

function selectOfRequests(db: Database, agent_seq: number, requests: readonly string[]) {
  return db
    .selectFrom('logs')
    .select(LOG_COLUMNS)
    .where(isOfRequests(db, agent_seq, requests))
}

/** SQLite's index has a part of each id. */
function isOfRequests(db: Database, agent_seq: number, requests: readonly string[]): RawBuilder<SqlBool> {
  const isNamed = sql<SqlBool>`request_id in (${sql.join(requests)}) and agent_seq = ${agent_seq}`
  if (engineOf(db) === 'postgres') return isNamed
  const parts = requests.map((id) => id.slice(4, 17))
  return sql<SqlBool>`substr(request_id, 5, 13) in (${sql.join(parts)}) and ${isNamed}`
}

export function isFound(db: Database, text: string) {
  const inMetadata = JSON.stringify(text).slice(1, -1)
  return sql<SqlBool>`(${contains(db, sql.ref('message'), text)} or ${contains(db, sql.ref('metadata'), inMetadata)})`
}

export function numbersOf({ level = [...LEVELS] }: Pick<LogsQuery, 'level'>): number[] {
  return [...new Set(level.map((name) => LEVELS.indexOf(name)))]
}

/** Removes at most `limit` entries that are older. Returns how many. */
export async function remove(db: Database, before: number, limit: number): Promise<number> {
  // Most entries are numbered in the order of their times, so the oldest have the smallest ids. An index of times would
  // slow down every insert.
  const oldest = db.selectFrom('logs').select('id').orderBy('id').limit(limit)
  const { numDeletedRows } = await db
    .deleteFrom('logs')
    .where('id', 'in', db.selectFrom(oldest.as('oldest')).select('oldest.id'))
    .where('timestamp', '<', before)
    .executeTakeFirst()
  return Number(numDeletedRows) || removeStragglers(db, before, limit)
}

/**
 * The same for older entries that were stored after younger ones: by an import, or while the clock was wrong. They are
 * looked for agent by agent.
 */
async function removeStragglers(db: Database, before: number, limit: number): Promise<number> {
  const { rows } = await sql<{ seq: number }>`select seq from agents
    where ${anyOf(sql`logs where agent_seq = agents.seq and timestamp < ${before}`)} limit 1`.execute(db)
  const [agent] = rows
  if (!agent) return 0
  return removeRows(db, 'logs', { which: sql`agent_seq = ${agent.seq} and timestamp < ${before}`, limit })
}

/** Removes at most `limit` entries that are past their project's retention. Returns how many. */
export function removeOfProjects(db: Database, now: number, limit: number): Promise<number> {
  return removeAged(db, 'logs', { now, limit, isOlder: (before) => sql`timestamp < ${before}` })
}

/** How many ids one statement has, because both engines limit that number. */
const REQUESTS_AT_ONCE = 100

/** Entries may be large, and other requests get their turn between two reads. */
const ENTRIES_AT_ONCE = 200

export async function* listOfRequests(
  db: Database,
  agent_seq: number,
  requests: string[],
): AsyncGenerator<StoredLogEntry> {
  for (let i = 0; i < requests.length; i += REQUESTS_AT_ONCE) {
    const some = requests.slice(i, i + REQUESTS_AT_ONCE)
    const found = db
      .selectFrom('logs')
      .select('id')
      .where(isOfRequests(db, agent_seq, some))
    const ids = (await found.orderBy('id').execute()).map(({ id }) => id)
    for (let at = 0; at < ids.length; at += ENTRIES_AT_ONCE) {
      const next = ids.slice(at, at + ENTRIES_AT_ONCE)
      const rows = await db.selectFrom('logs').select(LOG_COLUMNS).where('id', 'in', next).orderBy('id').execute()
      yield* readable(db, rows, fromRow)
    }
  }
}

/** Returns how many entries it removed. */
export async function removeOfRequests(db: Database, agent_seq: number, requests: string[]): Promise<number> {
  let removed = 0
  for (let i = 0; i < requests.length; i += REQUESTS_AT_ONCE) {
    const { numDeletedRows } = await db
      .deleteFrom('logs')
      .where(isOfRequests(db, agent_seq, requests.slice(i, i + REQUESTS_AT_ONCE)))
      .executeTakeFirst()
    removed += Number(numDeletedRows)
  }
  return removed
}

export function removeOfMissingAgents(db: Database, limit: number): Promise<number> {
  return removeRowsOfMissingAgents(db, 'logs', limit)
}

export type LogRow = Pick<Selectable<Tables['logs']>, (typeof LOG_COLUMNS)[number]>

export function fromRow(row: LogRow): StoredLogEntry {
  const { id, timestamp, level, request_id, message } = row
  return {
    id: String(id),
    timestamp,
    level: LEVELS[level] as StoredLogEntry['level'],
    message,
    metadata: { ...jsonOf('log entry', row)<object>('metadata'), request_id },
  }
}
