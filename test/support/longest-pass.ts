/**
 * The most milliseconds of processor time that one pass of the event loop took while the work went on. Other processes on
 * a busy machine do not count.
 */
export async function longestPass(work: () => Promise<unknown>): Promise<number> {
  const used = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let [last, longest, isDone] = [used(), 0, false]
  const look = () => {
    const now = used()
    longest = Math.max(longest, now - last)
    last = now
    if (!isDone) setImmediate(look)
  }
  setImmediate(look)
  await work().finally(() => {
    isDone = true
  })
  return longest
}
