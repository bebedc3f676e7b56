/** Calls back after a while that is the same for all who ask. Returns the way out. */
export type SharedTimer = (callback: () => void) => () => void

/** One timer for many callers: nearly all leave before their time, and then cost next to nothing. */
export function sharedTimer(ms: number): SharedTimer {
  const waiting = new Map<() => void, number>()
  let timer: NodeJS.Timeout | undefined

  const look = () => {
    timer = undefined
    const now = performance.now()
    // In the order in which they came, so the first that is not due ends the search.
    for (const [callback, due] of waiting) {
      if (due > now) {
        timer = setTimeout(look, due - now).unref()
        return
      }
      waiting.delete(callback)
      callback()
    }
  }

  return (callback) => {
    waiting.set(callback, performance.now() + ms)
    timer ??= setTimeout(look, ms).unref()
    return () => waiting.delete(callback)
  }
}
