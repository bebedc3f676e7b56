import { Worker } from 'node:worker_threads'
import type { CheckAnswer, CheckRequest } from './schema-check-worker.ts'

/** How long a check may run once it has begun, and how long its caller waits in all. */
type Patience = { runMs: number; waitMs: number }

type Waiting = { request: CheckRequest; runMs: number; until: number; timer: NodeJS.Timeout; end(a: CheckAnswer): void }

const MEMORY = { maxOldGenerationSizeMb: 256 }

const TOO_LATE: CheckAnswer = { outcome: 'undecided', why: 'time' }

/**
 * A thread that checks one value after the other. A check that runs too long ends with the thread, and the next one gets
 * a new thread.
 */
export class CheckThread {
  readonly #queue: Waiting[] = []
  #worker: Worker | undefined
  #isReady = false
  #current: Waiting | undefined

  check(request: CheckRequest, { runMs, waitMs }: Patience): Promise<CheckAnswer> {
    return new Promise((end) => {
      const giveUp = () => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1)
        end(TOO_LATE)
      }
      const timer = setTimeout(giveUp, waitMs)
      const waiting = { request, runMs, until: performance.now() + waitMs, timer, end }
      this.#queue.push(waiting)
      this.#work()
    })
  }

  async close(): Promise<void> {
    const worker = this.#worker
    this.#giveUp()
    await worker?.terminate()
  }

  /** Nothing is checked any more, until somebody asks again. */
  #giveUp(): void {
    this.#worker = undefined
    this.#give(TOO_LATE)
    for (const { timer, end } of this.#queue.splice(0)) {
      clearTimeout(timer)
      end(TOO_LATE)
    }
  }

  #work(): void {
    if (this.#current || this.#queue.length === 0) return
    this.#worker ??= this.#start()
    this.#worker.ref()
    if (!this.#isReady) return
    const next = this.#queue.shift() as Waiting
    clearTimeout(next.timer)
    next.timer = setTimeout(() => this.#replace(), Math.min(next.runMs, next.until - performance.now()))
    this.#current = next
    this.#worker.postMessage(next.request)
  }

  #start(): Worker {
    const worker = new Worker(new URL('./schema-check-worker.ts', import.meta.url), { resourceLimits: MEMORY })
    this.#isReady = false
    worker.on('message', (message: 'ready' | CheckAnswer) => {
      // A thread that was given up may still say something.
      if (this.#worker !== worker) return
      if (message === 'ready') this.#isReady = true
      else this.#give(message)
      // A thread without work does not keep the process alive.
      if (this.#queue.length === 0) worker.unref()
      this.#work()
    })
    // It ran out of memory, or could not even start.
    worker.on('error', () => {
      if (this.#worker !== worker) return
      if (this.#isReady) this.#replace()
      else this.#giveUp()
    })
    return worker
  }

  #replace(): void {
    void this.#worker?.terminate()
    // At once, because the next check would wait for it.
    this.#worker = this.#start()
    this.#worker.unref()
    this.#give(TOO_LATE)
    this.#work()
  }

  #give(answer: CheckAnswer): void {
    clearTimeout(this.#current?.timer)
    this.#current?.end(answer)
    this.#current = undefined
  }
}
