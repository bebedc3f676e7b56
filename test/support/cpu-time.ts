/** How many milliseconds of processor time the work takes. Other processes do not count, however busy the machine is. */
export function cpuTimeOf(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
