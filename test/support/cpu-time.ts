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
