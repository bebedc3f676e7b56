import type { StoreSizes } from '../operation/parts.ts'

/** A measure that is as quick as this is taken anew for each request. */
const QUICK_MS = 20
/** What took longer is shown for this time, and then measured again while clients see the last one. */
const KEPT_MS = 60_000

type Options = { measure(): Promise<Omit<StoreSizes, 'measured_at'>>; now: () => number; clock?: () => number }

/**
 * How much the store has, as it was measured last. Counting takes longer the more rows there are, so that no request waits
 * for it in a large store, except for the first.
 */
export function openSizes({ measure, now, clock = () => performance.now() }: Options): () => Promise<StoreSizes> {
  let last: StoreSizes | undefined
  let took = 0
  let measuring: Promise<StoreSizes> | undefined

  const measureNow = async (): Promise<StoreSizes> => {
    const [measured_at, began] = [now(), clock()]
    const measured = await measure()
    took = clock() - began
    last = { ...measured, measured_at }
    return last
  }
  return async () => {
    const isOld = !last || took <= QUICK_MS || now() - last.measured_at >= KEPT_MS
    if (isOld) measuring ??= measureNow().finally(() => (measuring = undefined))
    if (!last || took <= QUICK_MS) return measuring ?? measureNow()
    // Whoever asks next hears of a failure, if it lasts.
    measuring?.catch(() => undefined)
    return last
  }
}
