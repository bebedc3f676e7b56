/**
 * Milliseconds of processor time that this thread has used. Other processes don't count, no matter how busy the machine
 * is.
 */
export function cpuTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** How much processor time the work takes. */
export function cpuTimeOf(work: () => void): number {
  const before = cpuTime()
  work()
  return cpuTime() - before
}

/** The same, tried a few times until it is below the limit, because garbage may be collected during one of them. */
export function cpuTimeBelow(limit: number, work: () => void): number {
  let took = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 4 && took >= limit; tries++) took = cpuTimeOf(work)
  return took
}
