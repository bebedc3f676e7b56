import { Worker } from 'node:worker_threads'
import { type AwakeTimeout, setAwakeTimeout } from '../../lib/work/awake-timeout.ts'
import type { CheckAnswer, CheckRequest } from './schema-check-worker.ts'

/** How long a check may run once the thread has taken it, and how long its caller waits in all. */
type Patience = { runMs: number; waitMs: number }

/** `ran_ms` is how long the thread had it. */
export type Checked = { answer: CheckAnswer; ran_ms: number }

type Waiting = {
  request: CheckRequest
  runMs: number
  taken_at?: number
  wait: AwakeTimeout
  run?: AwakeTimeout
  end(checked: Checked): void
}

const MEMORY = { maxOldGenerationSizeMb: 256 }

const TOO_LATE: CheckAnswer = { outcome: 'undecided', why: 'time' }

/**
 * A thread that checks one value after the other. Owners take turns, so that the many checks of one do not hold up the
 * others. A check that runs too long ends with the thread, and the next one gets a new thread.
 */
export class CheckThread {
  /** The owner whose turn is next stands first. */
  readonly #queues = new Map<string, Waiting[]>()
  #worker: Worker | undefined
  #isReady = false
  #current: Waiting | undefined

  check(owner: string, request: CheckRequest, { runMs, waitMs }: Patience): Promise<Checked> {
    return new Promise((end) => {
      const giveUp = () => {
        if (this.#current === waiting) return this.#replace()
        this.#leave(owner, waiting)
        end({ answer: TOO_LATE, ran_ms: 0 })
      }
      const waiting: Waiting = { request, runMs, wait: setAwakeTimeout(giveUp, waitMs), end }
      const queue = this.#queues.get(owner)
      if (queue) queue.push(waiting)
      else this.#queues.set(owner, [waiting])
      this.#work()
    })
  }

  async close(): Promise<void> {
    const worker = this.#worker
    this.#giveUp()
    await worker?.terminate()
  }

  /** Nothing is checked any more, until the next call of `check`. */
  #giveUp(): void {
    this.#worker = undefined
    this.#give(TOO_LATE)
    const left = [...this.#queues.values()].flat()
    this.#queues.clear()
    for (const { wait, end } of left) {
      wait.clear()
      end({ answer: TOO_LATE, ran_ms: 0 })
    }
  }

  #work(): void {
    if (this.#current || this.#queues.size === 0) return
    this.#worker ??= this.#start()
    this.#worker.ref()
    if (!this.#isReady) return
    this.#current = this.#next()
    this.#worker.postMessage(this.#current.request)
  }

  /** The owner goes to the end of the line. */
  #next(): Waiting {
    const [owner, queue] = this.#queues.entries().next().value as [string, Waiting[]]
    const next = queue.shift() as Waiting
    this.#queues.delete(owner)
    if (queue.length > 0) this.#queues.set(owner, queue)
    return next
  }

  #leave(owner: string, waiting: Waiting): void {
    const others = (this.#queues.get(owner) ?? []).filter((other) => other !== waiting)
    if (others.length > 0) this.#queues.set(owner, others)
    else this.#queues.delete(owner)
  }

  /** From here on its time counts. On a busy machine the thread may get to it late. */
  #taken(): void {
    const current = this.#current
    if (!current) return
    current.taken_at = performance.now()
    current.run = setAwakeTimeout(() => this.#replace(), current.runMs)
  }

  #start(): Worker {
    const worker = new Worker(new URL('./schema-check-worker.ts', import.meta.url), { resourceLimits: MEMORY })
    this.#isReady = false
    worker.on('message', (message: 'ready' | 'taken' | CheckAnswer) => {
      // A thread that was given up may still say something.
      if (this.#worker !== worker) return
      if (message === 'taken') return this.#taken()
      if (message === 'ready') this.#isReady = true
      else this.#give(message)
      // A thread without work does not keep the process alive.
      if (this.#queues.size === 0) worker.unref()
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
    const current = this.#current
    if (!current) return
    current.wait.clear()
    current.run?.clear()
    this.#current = undefined
    current.end({ answer, ran_ms: current.taken_at === undefined ? 0 : performance.now() - current.taken_at })
  }
}
