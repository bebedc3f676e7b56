/** Waits until the work has ended, or until `ms` have passed. */
export async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  const limit = Promise.withResolvers<void>()
  const timer = setTimeout(limit.resolve, ms)
  await Promise.race([work, limit.promise])
  clearTimeout(timer)
}
