import { useEffect } from 'preact/hooks'
import type { Pagination } from '../../sdk/client.ts'
import { param, setParams } from './location.ts'
import type { Resource } from './resource.ts'

type PageOf = { limit: number; offset: number }

/** Which rows of a list the URL asks for. */
export function pageQuery(limit: number): PageOf
/** The same, with the order of the rows: as the URL says, else as the list has it by itself. */
export function pageQuery<Sort extends string>(limit: number, defaultSort: Sort): PageOf & { sort: Sort }
export function pageQuery(limit: number, defaultSort?: string): PageOf & { sort?: string } {
  const offset = Math.max(0, Math.floor(Number(param('offset')) || 0))
  const sort = param('sort') ?? defaultSort
  return { limit, offset, ...(defaultSort !== undefined && sort && { sort }) }
}

type ListPage<Row> = { data: Row[]; pagination: Pagination }

/**
 * The page of a list that is shown. A page past the end, whose last row was deleted or whose address is old, is not: the
 * address becomes that of the last page, and that is loaded.
 */
export function useShownPage<Row>({ data, error, isLoading }: Resource<ListPage<Row>>): ListPage<Row> | undefined {
  const { limit, offset, total } = data?.pagination ?? { limit: 1, offset: 0, total: 0 }
  const isPast = offset > 0 && offset >= total
  // What is remembered of an earlier visit may have changed since.
  const isLeft = isPast && !isLoading && !error
  const last = Math.max(0, Math.ceil(total / limit) - 1) * limit
  useEffect(() => {
    if (isLeft) setParams({ offset: last || undefined })
  }, [isLeft, last])
  return isPast ? undefined : data
}
