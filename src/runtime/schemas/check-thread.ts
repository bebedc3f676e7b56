import { Worker } from 'node:worker_threads'
import { type AwakeTimeout, setAwakeTimeout } from '../../lib/work/awake-timeout.ts'
import { FairRoom } from '../../lib/work/fair-room.ts'
import type { CheckAnswer, CheckRequest, TakenCheck } from './schema-check-worker.ts'

/** How much processor time a check can take once the thread has started it, and how long its caller waits in total. */
type Patience = { runMs: number; waitMs: number }

/** `ran_ms` is how long the thread worked on it. */
export type CheckResult = { answer: CheckAnswer; ran_ms: number }

type Current = {
  request: CheckRequest
  runMs: number
  taken_at?: number
  wait: AwakeTimeout
  run?: NodeJS.Timeout
  end(checked: CheckResult): void
}

/** A larger stack would only take longer to overflow. */
const MEMORY = { maxOldGenerationSizeMb: 256, stackSizeMb: 1 }

const TOO_LATE: CheckAnswer = { outcome: 'undecided', why: 'time' }

/**
 * A thread that checks one value at a time. Projects take turns, and so do the lanes of a project, so one project's
 * many checks don't delay the others. If a check runs too long, the thread is ended, and the next check gets a new one.
 */
export class CheckThread {
  readonly #turns = new FairRoom(1)
  #worker: Worker | undefined
  #isReady = false
  #current: Current | undefined

  async check(lane: string, request: CheckRequest, { runMs, waitMs }: Patience): Promise<CheckResult> {
    const until = performance.now() + waitMs
    const turn = await this.#turns.take(lane, 1, waitMs)
    if (!turn) return { answer: TOO_LATE, ran_ms: 0 }
    try {
      return await this.#run(request, { runMs, waitMs: until - performance.now() })
    } finally {
      turn.release()
    }
  }

  /** Ends the thread. No more checks run. */
  async close(): Promise<void> {
    this.#turns.close()
    const worker = this.#worker
    this.#worker = undefined
    this.#give(TOO_LATE)
    await worker?.terminate()
  }

  #run(request: CheckRequest, { runMs, waitMs }: Patience): Promise<CheckResult> {
    return new Promise((end) => {
      this.#current = { request, runMs, wait: setAwakeTimeout(() => this.#replace(), waitMs), end }
      this.#worker ??= this.#start()
      this.#worker.ref()
      if (this.#isReady) this.#worker.postMessage(request)
    })
  }

  /**
   * Starts the check's time only now, because on a busy machine the thread may start it late. It counts the thread's
   * processor time, because there the thread may also get little of it.
   */
  #taken(worker: Worker, { taken_at_cpu_ms }: TakenCheck): void {
    const current = this.#current
    if (!current) return
    current.taken_at = performance.now()
    const look = async () => {
      const left = current.runMs - ((await processorMs(worker)) - taken_at_cpu_ms)
      if (this.#current !== current) return
      if (left <= 0) return this.#replace()
      current.run = setTimeout(look, Math.ceil(left))
    }
    current.run = setTimeout(look, current.runMs)
  }

  #start(): Worker {
    const worker = new Worker(new URL('./schema-check-worker.ts', import.meta.url), { resourceLimits: MEMORY })
    this.#isReady = false
    worker.on('message', (message: 'ready' | TakenCheck | CheckAnswer) => {
      // A thread that was replaced may still send something.
      if (this.#worker !== worker) return
      if (message === 'ready') {
        this.#isReady = true
        if (this.#current) worker.postMessage(this.#current.request)
      } else if ('taken_at_cpu_ms' in message) this.#taken(worker, message)
      else this.#give(message)
    })
    // The thread ran out of memory, or couldn't even start.
    worker.on('error', () => {
      if (this.#worker !== worker) return
      if (this.#isReady) return this.#replace()
      this.#worker = undefined
      this.#give(TOO_LATE)
    })
    return worker
  }

  #replace(): void {
    void this.#worker?.terminate()
    // The new thread is started immediately, because the next check would have to wait for it.
    this.#worker = this.#start()
    this.#give(TOO_LATE)
  }

  #give(answer: CheckAnswer): void {
    // An idle thread doesn't keep the process alive.
    this.#worker?.unref()
    const current = this.#current
    if (!current) return
    current.wait.clear()
    clearTimeout(current.run)
    this.#current = undefined
    current.end({ answer, ran_ms: current.taken_at === undefined ? 0 : performance.now() - current.taken_at })
  }
}

/** Infinity if the thread has ended, or the system doesn't say. */
async function processorMs(worker: Worker): Promise<number> {
  const used = await worker.cpuUsage().catch(() => undefined)
  return used ? (used.user + used.system) / 1_000 : Number.POSITIVE_INFINITY
}
