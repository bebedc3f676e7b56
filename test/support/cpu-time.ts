/** Milliseconds of processor time that this thread has used. Other processes do not count, however busy the machine is. */
export function cpuTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** How much of it the work takes. */
export function cpuTimeOf(work: () => void): number {
  const before = cpuTime()
  work()
  return cpuTime() - before
}

/** The same, of the quickest of a few tries: a collection of garbage, or a compilation, falls into one of them at most. */
export function leastCpuTimeOf(work: () => void, tries = 4): number {
  return Math.min(...Array.from({ length: tries }, () => cpuTimeOf(work)))
}
