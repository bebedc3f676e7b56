import type { Pagination } from './api.ts'

export type Page<T> = { data: T[]; pagination: Pagination }

/** Await it to get one page, or iterate over it to get every item of every page. */
export type Pages<T> = Promise<Page<T>> & AsyncIterable<T>

type PageQuery = {
  limit?: number | undefined
  offset?: number | undefined
  sort?: string | undefined
  start_time?: string | undefined
  end_time?: string | undefined
  after?: string | undefined
}

const FOLLOWING_LIMIT = 100
/** How many of the last items are remembered. */
const MOST_KNOWN = 10_000

export function pages<T>(load: (query: PageQuery) => Promise<Page<T>>, query: PageQuery = {}): Pages<T> {
  const first = load(query)
  return Object.assign(first, {
    async *[Symbol.asyncIterator]() {
      let page = await first
      const known = new Set<unknown>()
      let range = query
      let offset = query.offset ?? 0
      for (;;) {
        // Items that were created in the meantime move others to later pages. None is returned twice.
        const fresh = page.data.filter((item) => !known.has(idOf(item)))
        yield* fresh
        const { has_more, limit, total, searched_to, next_after } = page.pagination
        if (next_after !== undefined) {
          if (!has_more) return
          page = await load({ ...query, after: next_after })
          continue
        }
        // Counted here, including duplicates, so the loop ends no matter what the service replies. An item that the
        // service can't read is left out of its page but counted.
        const length = has_more && searched_to === undefined ? Math.max(limit, page.data.length) : page.data.length
        offset += length
        if (!has_more || length === 0 || offset >= total) {
          const rest = searched_to && rangeBehind(range, searched_to)
          if (!rest) return
          range = rest
          offset = Math.max(offset - total, 0)
        }
        for (const item of page.data) known.add(idOf(item))
        known.delete(undefined)
        for (const oldest of known) if (known.size > MOST_KNOWN) known.delete(oldest)
        page = await load({ ...range, limit: query.limit ?? FOLLOWING_LIMIT, offset })
      }
    },
  })
}

/** The rest of a search that stopped at `searched_to`. Undefined if the search got no further than the previous one. */
function rangeBehind(range: PageQuery, searched_to: string): PageQuery | undefined {
  const bound = range.sort === 'timestamp' ? 'start_time' : 'end_time'
  return range[bound] === searched_to ? undefined : { ...range, [bound]: searched_to }
}

/** The fields that identify items which have no ID. */
const NAMING_FIELDS = ['request_id', 'call_id', 'name', 'user_id', 'session_id', 'provider', 'model']

/** Items with the same text are the same item. Undefined for items that can't be identified, such as log entries. */
function idOf(item: unknown): string | undefined {
  const fields = item as Record<string, unknown>
  if (fields['id'] !== undefined) return JSON.stringify(fields['id'])
  if (fields['timestamp'] !== undefined) return undefined
  const names = NAMING_FIELDS.map((field) => fields[field])
  return names.some((name) => name !== undefined) ? JSON.stringify(names) : undefined
}
