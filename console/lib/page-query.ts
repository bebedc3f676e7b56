import { param } from './location.ts'

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
