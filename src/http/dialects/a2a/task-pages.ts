const PAGE = 50
const MAX_PAGE = 100

/** The page that a client requests. The token is the number of items before the page. */
export function readPage({ pageSize = PAGE, pageToken }: { pageSize?: number | undefined; pageToken: string }) {
  const limit = pageSize === 0 ? PAGE : Math.min(pageSize, MAX_PAGE)
  return { limit, offset: pageToken === '' ? 0 : Number(pageToken) }
}
