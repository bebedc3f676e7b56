const SLICES = 20
const SHORTEST_MS = 10

export type AwakeTimeout = { clear(): void }

/**
 * Fires after `ms` during which this process could run. If the process was suspended, perhaps with its machine, a timer
 * fires late. So the time is measured in slices, and each slice counts only as long as its timer was set to.
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
