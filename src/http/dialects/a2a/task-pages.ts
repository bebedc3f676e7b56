const PAGE = 50
const MAX_PAGE = 100

/** The page that a client requests. Its token is the number of items before it. */
export function readPage({ pageSize = PAGE, pageToken }: { pageSize?: number | undefined; pageToken: string }) {
  const limit = pageSize === 0 ? PAGE : Math.min(pageSize, MAX_PAGE)
  return { limit, offset: pageToken === '' ? 0 : Number(pageToken) }
}
