import { cpuTime } from './cpu-time.ts'

/** The most milliseconds of processor time that one pass of the event loop took during the work. */
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
    // The pass in which the work has ended counts too.
    look()
  })
  return longest
}

/** No test allows less than this, so a pass as short as this ends the attempts. */
const SHORT_MS = 40

/** The best result of several attempts, because garbage collection and a shared processor cause outliers. */
export async function leastLongestPass(work: (attempt: number) => Promise<unknown>, attempts = 3): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < attempts && least > SHORT_MS; attempt++) {
    least = Math.min(least, await longestPass(() => work(attempt)))
  }
  return least
}
