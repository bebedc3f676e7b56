/**
 * Resolves with the work's result, or rejects with the error from `late` after `ms`. If the process was suspended, a
 * result that arrived in the meantime is handled before the timeout, and counts.
 */
export function within<T>(ms: number, work: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(late())
    const timer = setTimeout(() => setImmediate(giveUp), ms)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
