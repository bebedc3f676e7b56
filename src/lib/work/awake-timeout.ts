const SLICES = 20
const SHORTEST_MS = 10

export type AwakeTimeout = { clear(): void }

/**
 * Fires after `ms` in which this process could run. If the process was suspended, perhaps with its machine, a timer
 * fires late, and only the time that the timer was set to is counted. So the time is measured in slices.
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
