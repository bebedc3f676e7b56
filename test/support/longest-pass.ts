import { cpuTime } from './cpu-time.ts'

/** The most milliseconds of processor time that one pass of the event loop took while the work went on. */
export async function longestPass(work: () => Promise<unknown>): Promise<number> {
  let [last, longest, isDone] = [cpuTime(), 0, false]
  const look = () => {
    const now = cpuTime()
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
