import { type SelectQueryBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Tables } from '../tables.ts'
import type { CountedList } from './counted-lists.ts'
import { countOwners, ownerOf } from './counts.ts'
import { isOneOf } from './is-one-of.ts'
import { type ListOptions, orderOf, type Page, type PageQuery, page, pageOfLists, requireSortable } from './page.ts'
import { countAll, within } from './stretches.ts'

/** What is wanted of several agents: their own lists, or with `value` those of one of their users, sessions … */
export type AgentLists = {
  list: CountedList
  seqs: readonly number[]
  value?: string | undefined
  parts: readonly string[]
}

/** So many parts of lists are merged at once: SQLite takes 500. */
const MERGED_PARTS = 400
/** To merge one part more costs about as much as to sort so many rows more. */
const ROWS_FOR_A_PART = 100

/** The agents that have such rows, and how many they have together. */
export async function countAgents(db: Database, { list, seqs, value, parts }: AgentLists) {
  const owners = seqs.map((seq) => (value === undefined ? ownerOf(seq) : ownerOf(seq, value)))
  const counted = await countOwners(db, { list, owners, parts })
  return { ...counted, list, parts, seqs: counted.owners.map(Number.parseFloat) }
}

/**
 * A page of the lists of several agents. Long lists are merged in order; the rows of short ones, or of too many, are
 * sorted.
 */
export async function pageOfAgents<TB extends keyof Tables, Row>(
  db: Database,
  select: SelectQueryBuilder<Tables, TB, Row>,
  query: PageQuery,
  wanted: Awaited<ReturnType<typeof countAgents>>,
  options: ListOptions = {},
): Promise<Page<Row>> {
  const { list, seqs, parts, total: all } = wanted
  if (seqs.length === 0) return { items: [], total: 0 }
  const isInOrder = orderOf(query.sort).column === list.order
  const merged = seqs.length * parts.length
  if (isInOrder && merged <= MERGED_PARTS && all > merged * ROWS_FOR_A_PART) {
    const selects = seqs.map((seq) => select.where(sql`agent_seq`, '=', seq))
    return pageOfLists(db, selects, query, wanted, options)
  }
  const inParts = select.where(isOneOf(db, sql`agent_seq`, seqs)).where(sql.ref(list.part), 'in', parts)
  const { range = {}, isFiltered = false } = options
  const rows = within(inParts, list, range)
  const isAll = !isFiltered && range.from === undefined && range.to === undefined
  const total = isAll ? all : await countAll([rows])
  if (!isInOrder) requireSortable(total, query, list)
  return page(db, rows, query, { total: Promise.resolve(total) })
}
