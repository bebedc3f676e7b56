import type { StoreSizes } from '../operation/parts.ts'

/** A store with fewer rows is counted for each request. */
const FEW_ROWS = 20_000
/** The days of each agent are counted one by one: an agent counts as this number of rows. */
const ROWS_PER_AGENT = 60
/** What takes longer to count is shown for this time, and then counted again while clients see the last one. */
const KEPT_MS = 60_000

type Options = { measure(): Promise<Omit<StoreSizes, 'measured_at'>>; now: () => number }

/**
 * How much the store has, as it was measured last. Counting takes longer the more rows there are, so that no request waits
 * for it in a large store, except for the first.
 */
export function openSizes({ measure, now }: Options): () => Promise<StoreSizes> {
  let last: StoreSizes | undefined
  let measuring: Promise<StoreSizes> | undefined

  const measureNow = async (): Promise<StoreSizes> => {
    const measured_at = now()
    last = { ...(await measure()), measured_at }
    return last
  }
  return async () => {
    const known = last && !isSmall(last) ? last : undefined
    if (known && now() - known.measured_at < KEPT_MS) return known
    measuring ??= measureNow().finally(() => (measuring = undefined))
    if (!known) return measuring
    // The next request meets a failure, if it lasts.
    measuring.catch(() => undefined)
    return known
  }
}

function isSmall({ rows }: StoreSizes): boolean {
  const all = Object.values(rows).reduce((sum, count) => sum + count, 0)
  return all + ROWS_PER_AGENT * (rows['agents'] ?? 0) <= FEW_ROWS
}
