import { type SqlBool, sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import { contains } from '../storage/queries/contains.ts'
import { type CountedList, LOGS_OF_AGENT } from '../storage/queries/counted-lists.ts'
import { keysOfParts, orderOf, type Page, page, pageOfList, within } from '../storage/queries/page.ts'
import { LEVELS, type LogsQuery, type StoredLogEntry } from './log-entry.ts'
import { fromRow, type LogRow } from './store.ts'

/** A search looks through so many entries at most, of those that pass the other filters. */
const SEARCHED_ENTRIES = 10_000

/** Newest first unless the query says otherwise; entries of the same millisecond keep the order they were written in. */
export async function find(db: Database, agent_seq: number, query: LogsQuery): Promise<Page<StoredLogEntry>> {
  const { items, ...rest } = await findRows(db, agent_seq, query)
  return { items: items.map(fromRow), ...rest }
}

function findRows(db: Database, agent_seq: number, query: LogsQuery) {
  const { request_id, search } = query
  // An invocation has few entries: no other filter needs an index.
  if (request_id !== undefined) {
    let select = within(selectLogs(db, agent_seq), LOGS_OF_AGENT, rangeOf(query)).where('request_id', '=', request_id)
    // An expression, so that the index of levels is not thought of.
    if (query.level) select = select.where(sql<number>`level + 0`, 'in', numbersOf(query))
    if (search !== undefined) select = select.where(isFound(db, search))
    return page(db, select, query)
  }
  const wanted = { list: LOGS_OF_AGENT, owner: [agent_seq] as const, parts: numbersOf(query) }
  if (search !== undefined) return findText(db, search, query, wanted)
  return pageOfList(db, selectLogs(db, agent_seq), query, wanted, { range: rangeOf(query) })
}

type Wanted = { list: CountedList; owner: readonly [number]; parts: number[] }

/** An index of every word would cost each invocation more than all else it writes: a search looks at the nearest entries. */
async function findText(db: Database, text: string, query: LogsQuery, wanted: Wanted): Promise<Page<LogRow>> {
  const { direction } = orderOf(query.sort)
  const inRange = within(selectLogs(db, wanted.owner[0]), wanted.list, rangeOf(query))
  const found = db
    .selectFrom(keysOfParts(db, inRange, wanted, { direction, limit: SEARCHED_ENTRIES }).as('near'))
    .innerJoin('logs', 'logs.id', 'near.id')
    .where(isFound(db, text))
  const [items, { total }, last] = await Promise.all([
    found
      .select(['timestamp', 'level', 'request_id', 'message', 'metadata'])
      .orderBy('near.time', direction)
      .orderBy('near.id', direction)
      .limit(query.limit)
      .offset(query.offset)
      .execute(),
    found.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
    keysOfParts(db, inRange, wanted, { direction, limit: 2, offset: SEARCHED_ENTRIES - 1 }).execute(),
  ])
  return { items, total, searched_to: last.length === 2 ? last[0]?.time : undefined }
}

function selectLogs(db: Database, agent_seq: number) {
  return db
    .selectFrom('logs')
    .select(['timestamp', 'level', 'request_id', 'message', 'metadata'])
    .where('agent_seq', '=', agent_seq)
}

function rangeOf({ start_time, end_time }: LogsQuery) {
  return { from: start_time, to: end_time }
}

function isFound(db: Database, text: string) {
  const inMetadata = JSON.stringify(text).slice(1, -1)
  return sql<SqlBool>`(${contains(db, sql.ref('message'), text)} or ${contains(db, sql.ref('metadata'), inMetadata)})`
}

function numbersOf({ level = [...LEVELS] }: LogsQuery): number[] {
  return [...new Set(level.map((name) => LEVELS.indexOf(name)))]
}
