import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { type Database, engineOf, plannedOnce } from '../../storage/database.ts'
import { inMemoryScope } from '../memory-filter.ts'
import type { PostingRow } from '../ranking/postings.ts'
import { LONGEST_KEPT } from './kept-texts.ts'
import type { CountedScope } from './scope-counts.ts'

/** A scope with at most this many new rows is read together with others. Rows may be long, so the number is small. */
export const FIRST_PAGE = 200

/** How many rows of all agents are searched for an agent's new ones. For the rest, the index is used. */
const NEWEST_ROWS = 10_000

/**
 * A new memory. If the scope was known before, the row contains all of the memory, unless its text is long. Then the run
 * that reads the scope needn't read the latest texts separately.
 */
export type NewsRow = PostingRow & { id?: string; content?: string | null }

/** What is known about a scope: how many memories it has, the last of them, and the generation that they belong to. */
export type ScopeState = { size: number; seq: number; generation: string | undefined }

/**
 * What one statement saw of a scope: its generation, how many memories it has, and the rows after the last known one.
 * `more` is set if there are further rows.
 */
export type ScopeView = { generation: string | undefined; count: number; rows: NewsRow[]; more: boolean }

type ScopeRequest = { scope: CountedScope; known: ScopeState }
type NewsBatch = { asked: ScopeRequest[]; seen: Promise<ScopeView[]> }

/** Reads what is new in scopes. One query reads what all callers request about users in one pass of the event loop. */
export class ScopeReader {
  readonly #db: Database
  #open: NewsBatch | undefined

  constructor(db: Database) {
    this.#db = db
  }

  async readNews(scope: CountedScope, known: ScopeState): Promise<ScopeView> {
    if (scope.level === 0 && known.size > 0) return this.#readNewsOfAgent(scope, known)
    if (scope.level !== 1) return this.readPage(scope, known.seq, FIRST_PAGE)
    const batch = (this.#open ??= this.#begin())
    const at = batch.asked.push({ scope, known }) - 1
    return (await batch.seen)[at] as ScopeView
  }

  readPage(scope: CountedScope, after: number, limit: number): Promise<ScopeView> {
    return this.#readRows(scope, inMemoryScope(scope), after, limit)
  }

  /**
   * No index contains an agent's memories in the order of `seq`, and with an index SQLite would read all of them. The
   * plus prevents that, so SQLite reads the newest rows of all agents.
   */
  async #readNewsOfAgent(scope: CountedScope, { size, seq }: ScopeState): Promise<ScopeView> {
    const newest = sql<SqlBool>`+memories.agent_seq = ${scope.agent_seq} and seq <= ${seq + NEWEST_ROWS}`
    const seen = await this.#readRows(scope, newest, seq, FIRST_PAGE)
    return { ...seen, more: seen.count - size > seen.rows.length }
  }

  /** Reads rows and counts with one statement, so both are from the same moment. */
  async #readRows(
    scope: CountedScope,
    condition: RawBuilder<SqlBool>,
    after: number,
    limit: number,
  ): Promise<ScopeView> {
    const { rows: all } = await sql<PostingRow>`
      select * from (
        select seq, kind, role, user_id, session_id, created_at, terms, length from memories
        where ${condition} and seq > ${after} order by seq limit ${limit}) as later
      union all
      select 0, generation, null, '', '', turns + notes, '', 0 from memory_scopes
      where agent_seq = ${scope.agent_seq} and level = ${scope.level}
        and user_id = ${scope.user_id ?? ''} and session_id = ${scope.session_id ?? ''}`.execute(this.#db)
    const counts = all.find(({ seq }) => seq === 0)
    const rows = all.filter(({ seq }) => seq > 0)
    return { generation: counts?.kind, count: counts?.created_at ?? 0, rows, more: rows.length === limit }
  }

  #begin(): NewsBatch {
    const asked: ScopeRequest[] = []
    const seen = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      this.#open = undefined
      return this.#readUsers(asked)
    })
    return { asked, seen }
  }

  /**
   * Reads several scopes. A scope's rows are left out if there are many, or if its generation has changed. The scope is
   * then read page by page.
   */
  async #readUsers(asked: readonly ScopeRequest[]): Promise<ScopeView[]> {
    const { rows } = await sql<NewsRow & { at: number }>`select ${plannedOnce('news')}
        given.at, later.seq, later.kind, later.role, later.user_id, later.session_id, later.created_at, later.terms,
        later.length, later.id, later.metadata, later.superseded_by, later.version, later.deployment_id,
        case when given.size > 0 and length(later.content) <= ${LONGEST_KEPT} then later.content end as content
      from ${tableOf(this.#db, asked)} cross join ${countsOf(this.#db)} as scope cross join ${laterRows(this.#db)} as later
      where ${SAME_SCOPE} and later.agent_seq = given.agent_seq and later.user_id = given.user_id
        and later.seq > given.last_seq and (given.size = 0 or scope.generation = given.generation)
        and scope.turns + scope.notes - given.size <= ${FIRST_PAGE}
      union all
      select given.at, 0, scope.generation, null, '', '', scope.turns + scope.notes, '', 0,
        null, null, null, null, null, null
      from ${tableOf(this.#db, asked)} cross join ${countsOf(this.#db)} as scope where ${SAME_SCOPE}`.execute(this.#db)
    const seen = asked.map((): ScopeView => ({ generation: undefined, count: 0, rows: [], more: false }))
    for (const { at, ...row } of rows) {
      const scope = seen[at] as ScopeView
      if (row.seq > 0) scope.rows.push(row)
      else {
        scope.generation = row.kind
        scope.count = row.created_at
        scope.more = row.created_at - (asked[at]?.known.size ?? 0) > FIRST_PAGE
      }
    }
    for (const scope of seen) scope.rows.sort((a, b) => a.seq - b.seq)
    return seen
  }
}

const SAME_SCOPE = sql`scope.agent_seq = given.agent_seq and scope.level = 1 and scope.user_id = given.user_id
  and scope.session_id = ''`

/**
 * The limit makes PostgreSQL look up each scope by its key. Without the limit, it may read the counts of all scopes.
 */
function countsOf(db: Database): RawBuilder<unknown> {
  if (engineOf(db) !== 'postgres') return sql`memory_scopes`
  return sql`lateral (
    select * from memory_scopes
    where memory_scopes.agent_seq = given.agent_seq and memory_scopes.level = 1
      and memory_scopes.user_id = given.user_id and memory_scopes.session_id = ''
    limit 1)`
}

/** The limit stops PostgreSQL from reading all memories. The cross join makes SQLite start with the given scopes. */
function laterRows(db: Database): RawBuilder<unknown> {
  if (engineOf(db) !== 'postgres') return sql`memories`
  return sql`lateral (
    select * from memories
    where memories.agent_seq = given.agent_seq and memories.user_id = given.user_id and memories.seq > given.last_seq
    order by memories.seq limit ${FIRST_PAGE})`
}

function tableOf(db: Database, asked: readonly ScopeRequest[]): RawBuilder<unknown> {
  const given = asked.map(({ scope: { agent_seq, user_id }, known: { size, seq, generation } }, at) => ({
    at,
    agent_seq,
    user_id: user_id ?? '',
    size,
    last_seq: seq,
    generation: generation ?? '',
  }))
  const json = JSON.stringify(given)
  return engineOf(db) === 'postgres'
    ? sql`jsonb_to_recordset(${json}::jsonb)
        as given(at int, agent_seq bigint, user_id text, size bigint, last_seq bigint, generation text)`
    : sql`(select value ->> 'at' as at, value ->> 'agent_seq' as agent_seq, value ->> 'user_id' as user_id,
        value ->> 'size' as size, value ->> 'last_seq' as last_seq, value ->> 'generation' as generation
        from json_each(${json})) as given`
}
