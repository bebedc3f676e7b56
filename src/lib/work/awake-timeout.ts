const SLICES = 20
const SHORTEST_MS = 10

export type AwakeTimeout = { clear(): void }

/**
 * Rings after `ms` in which this process got to run. A process that stands still, as on a machine that was suspended,
 * learns of it by a timer that rings late: only the time that the timer was set to counts. So time is taken in slices.
 */
export function setAwakeTimeout(ring: () => void, ms: number): AwakeTimeout {
  const sliceMs = Math.max(SHORTEST_MS, ms / SLICES)
  let left = ms
  let timer: NodeJS.Timeout
  const wait = () => {
    if (left <= 0) return ring()
    timer = setTimeout(wait, Math.min(sliceMs, left))
    left -= sliceMs
  }
  wait()
  return { clear: () => clearTimeout(timer) }
}
