import { setAwakeTimeout } from '../../lib/work/awake-timeout.ts'
import { CONNECT_MS } from './postgres.ts'

/** How many connections transactions leave free for others. */
const LEFT_OVER = 1
/** PostgreSQL's error when it has too many connections. */
const TOO_MANY_CONNECTIONS = '53300'

/**
 * Allows fewer simultaneous transactions than there are connections. A transaction may need cached data that must be
 * read over another connection. If transactions used all connections, they would wait for each other forever.
 */
export class TransactionPlaces {
  #left: number
  readonly #waiting = new Set<() => void>()

  constructor(connections: number) {
    this.#left = Math.max(1, connections - LEFT_OVER)
  }

  /** How many transactions wait for a place. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Runs the work when a place is free. Rejects if none becomes free within the time limit for connections. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#left > 0) this.#left--
    else await this.#wait()
    try {
      return await work()
    } finally {
      this.#passOn()
    }
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        timer.clear()
        resolve()
      }
      const timer = setAwakeTimeout(() => {
        if (!this.#waiting.delete(begin)) return
        const message = `no transaction could begin within ${CONNECT_MS} ms: all connections are in use`
        reject(Object.assign(new Error(message), { code: TOO_MANY_CONNECTIONS }))
      }, CONNECT_MS)
      this.#waiting.add(begin)
    })
  }

  /** Gives the place to the transaction that has waited longest. */
  #passOn(): void {
    const [next] = this.#waiting
    if (!next) {
      this.#left++
      return
    }
    this.#waiting.delete(next)
    next()
  }
}
