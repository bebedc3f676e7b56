import type { Pagination } from './api.ts'

export type Page<T> = { data: T[]; pagination: Pagination }

/** Await it for one page, or iterate it for every item of every page. */
export type Pages<T> = Promise<Page<T>> & AsyncIterable<T>

type PageQuery = { limit?: number | undefined; offset?: number | undefined }

const FOLLOWING_LIMIT = 100

export function pages<T>(load: (query: PageQuery) => Promise<Page<T>>, query: PageQuery = {}): Pages<T> {
  const first = load(query)
  return Object.assign(first, {
    async *[Symbol.asyncIterator]() {
      let page = await first
      let known = new Set<unknown>()
      let offset = query.offset ?? 0
      for (;;) {
        // Items that were created meanwhile push others onto the next page. Items of the last page are not given twice.
        const fresh = page.data.filter((item) => !known.has(idOf(item)))
        yield* fresh
        const { has_more, total } = page.pagination
        // Counted here, with duplicates, so that the loop ends whatever the service says.
        offset += page.data.length
        if (!has_more || page.data.length === 0 || offset >= total) return
        known = new Set(page.data.map(idOf).filter((id) => id !== undefined))
        page = await load({ ...query, limit: query.limit ?? FOLLOWING_LIMIT, offset })
      }
    },
  })
}

function idOf(item: unknown): unknown {
  return (item as { id?: unknown }).id
}
