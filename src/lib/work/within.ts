/**
 * What the work comes to, or the error of `late` once `ms` have passed. What came while this process stood still is seen
 * before that, and counts.
 */
export function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(late())
    const timer = setTimeout(() => setImmediate(giveUp), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
