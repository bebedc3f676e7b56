import { useEffect } from 'preact/hooks'
import type { Pagination } from '../../sdk/client.ts'
import { param, setParams } from './location.ts'
import type { Resource } from './resource.ts'

type PageOf = { limit: number; offset: number }

/** The rows of a list that the URL selects. */
export function pageQuery(limit: number): PageOf
/** The same with the order of the rows, from the URL or else the list's default. */
export function pageQuery<Sort extends string>(limit: number, defaultSort: Sort): PageOf & { sort: Sort }
export function pageQuery(limit: number, defaultSort?: string): PageOf & { sort?: string } {
  const offset = Math.max(0, Math.floor(Number(param('offset')) || 0))
  const sort = param('sort') ?? defaultSort
  return { limit, offset, ...(defaultSort !== undefined && sort && { sort }) }
}

type ListPage<Row> = { data: Row[]; pagination: Pagination }

/**
 * The page of a list to show. If the URL names a page past the end, because its last row was deleted or the URL is old,
 * it isn't shown. Instead, the URL changes to the last page, and that is loaded.
 */
export function useShownPage<Row>({ data, error, isLoading }: Resource<ListPage<Row>>): ListPage<Row> | undefined {
  const { limit, offset, total } = data?.pagination ?? { limit: 1, offset: 0, total: 0 }
  const isPast = offset > 0 && offset >= total
  // Data cached from an earlier visit may be outdated.
  const isLeft = isPast && !isLoading && !error
  const last = Math.max(0, Math.ceil(total / limit) - 1) * limit
  useEffect(() => {
    if (isLeft) setParams({ offset: last || undefined })
  }, [isLeft, last])
  return isPast ? undefined : data
}
