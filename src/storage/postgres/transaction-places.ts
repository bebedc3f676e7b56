import { setAwakeTimeout } from '../../lib/work/awake-timeout.ts'
import { CONNECT_MS } from './postgres.ts'

/** Connections that transactions leave to others. */
const LEFT_OVER = 1
/** What PostgreSQL says when it has too many connections. */
const TOO_MANY_CONNECTIONS = '53300'

/**
 * Begins fewer transactions at once than there are connections. What a transaction needs from the memory of this node may
 * have to be read on another connection: if transactions had all of them, they would wait for each other.
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

  /** Rejects if there is no place in the time in which there would have to be a connection. */
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

  /** The place goes to the one that has waited longest. */
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
