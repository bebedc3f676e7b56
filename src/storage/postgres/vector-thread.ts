import { Worker } from 'node:worker_threads'
import type { CompiledQuery } from 'kysely'
import type { Comparison, ComparisonResult } from '../comparison.ts'
import { ReadersBusyError, ReadTimeoutError } from '../read-limits.ts'

export type VectorWorkerData = { url: string; silentMs?: number | undefined }
export type VectorRequest = { id: number; text: string; values: unknown[]; comparison: Comparison }
/** An error is sent as its message and its code. */
export type VectorReply =
  | { id: number; result: ComparisonResult }
  | { id: number; error: { message: string; code: unknown } }

type Caller = { resolve(result: ComparisonResult): void; reject(error: Error): void; timer: NodeJS.Timeout }

/**
 * Reads vectors from PostgreSQL and compares them in a thread and with connections of its own, because tens of
 * megabytes for one search would block the thread that answers HTTP. The thread starts with the first search that needs
 * it.
 */
export class VectorThread {
  readonly #workerData: VectorWorkerData
  readonly #readTimeout: number
  readonly #waiting = new Map<number, Caller>()
  #worker: Worker | undefined
  #nextId = 1

  constructor({ readTimeout, ...workerData }: VectorWorkerData & { readTimeout: number }) {
    this.#workerData = workerData
    this.#readTimeout = readTimeout
  }

  compare({ sql, parameters }: CompiledQuery, comparison: Comparison): Promise<ComparisonResult> {
    return new Promise((resolve, reject) => {
      const id = this.#nextId++
      const timer = setTimeout(() => this.#giveUp(id), this.#readTimeout).unref()
      this.#waiting.set(id, { resolve, reject, timer })
      this.#worker ??= this.#start()
      this.#worker.postMessage({ id, text: sql, values: [...parameters], comparison } satisfies VectorRequest)
    })
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  #start(): Worker {
    const { url, silentMs } = this.#workerData
    const workerData: VectorWorkerData = { url, silentMs }
    const worker = new Worker(new URL('./vector-worker.ts', import.meta.url), { workerData })
    worker.unref()
    worker.on('message', (reply: VectorReply) => {
      const caller = this.#take(reply.id)
      if ('result' in reply) caller?.resolve(reply.result)
      else caller?.reject(Object.assign(new Error(reply.error.message), { code: reply.error.code }))
    })
    worker.on('error', (error: Error) => this.#end(worker, error))
    worker.on('exit', () => this.#end(worker, new Error('the database is closed')))
    return worker
  }

  /** Ends the thread, its connections and their work on the server. The next search starts a new thread. */
  #giveUp(id: number): void {
    this.#take(id)?.reject(new ReadTimeoutError(this.#readTimeout))
    const worker = this.#worker
    if (!worker) return
    this.#end(worker, new ReadersBusyError())
    void worker.terminate()
  }

  #end(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const id of this.#waiting.keys()) this.#take(id)?.reject(error)
  }

  #take(id: number): Caller | undefined {
    const caller = this.#waiting.get(id)
    this.#waiting.delete(id)
    clearTimeout(caller?.timer)
    return caller
  }
}
