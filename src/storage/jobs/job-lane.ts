import { randomUUID } from 'node:crypto'
import { Lookout } from '../../lib/work/lookout.ts'
import { waitAtMost } from '../../lib/work/wait-at-most.ts'
import { keepLeases, type Lease } from '../leases/lease.ts'
import type { JobHandler, JobOptions } from './job-handler.ts'
import type { TakenJob } from './jobs.ts'
import * as jobs from './jobs.ts'
import { type RunningJob, runJob } from './run-job.ts'

/** How soon a lane looks again when other nodes may have taken all that is due. */
const AGAIN_MS = 1_000
/** How long a handler may take to end after its signal. A handler that takes longer keeps its lease until that ends. */
const STOP_MS = 5_000

/** Takes the jobs of one kind when they are due, up to the number that may run at once. */
export class JobLane {
  readonly #options: JobOptions
  readonly #kind: string
  readonly #handler: JobHandler
  readonly #running = new Map<string, RunningJob>()
  readonly #stopRenewing: () => void
  readonly #lookout: Lookout
  #isSeeded: boolean

  constructor(options: JobOptions, kind: string, handler: JobHandler) {
    this.#options = options
    this.#kind = kind
    this.#handler = handler
    this.#isSeeded = handler.every_ms === undefined
    this.#lookout = new Lookout({
      look: () => this.#look(),
      failed: (err) => options.log.warn({ kind, err }, 'could not look for jobs'),
      now: options.now,
    })
    this.#stopRenewing = keepLeases(jobs.LEASED_JOBS, {
      ...options,
      db: options.storage.db,
      lease_ms: handler.lease_ms,
      held: () => [...this.#running.values()].map(({ job }) => job.lease),
      lost: (lease) => this.#lose(lease),
    })
  }

  wake(): void {
    this.#lookout.wake()
  }

  async close(): Promise<void> {
    await this.#lookout.close()
    const running = [...this.#running.values()]
    for (const { stop } of running) stop.abort(new Error('the service stops'))
    await waitAtMost(Promise.all(running.map(({ ended }) => ended)), STOP_MS)
    this.#stopRenewing()
  }

  /** Starts the jobs that are due. Returns the time at which the next one is due. */
  async #look(): Promise<number | undefined> {
    const { storage, now, node } = this.#options
    const { concurrency, lease_ms } = this.#handler
    const kind = this.#kind
    if (!this.#isSeeded) {
      await storage.transaction((db) => jobs.enqueue(db, { id: kind, kind, payload: null, run_at: now() }))
      this.#isSeeded = true
    }
    const free = concurrency - this.#running.size
    if (free === 0 || this.#lookout.isClosed) return undefined
    // A process that slept through the end of its own leases must not run its jobs a second time.
    const except = [...this.#running.keys()]
    const next = await jobs.nextRunAt(storage.db, kind, except)
    if (next === undefined || next > now()) return next
    const owner = `${node}:${randomUUID()}`
    const taken = await jobs.takeDue(storage.db, { kind, limit: free, lease_ms, owner, except }, now())
    for (const job of taken) this.#start(job)
    if (taken.length > 0) this.wake()
    return now() + AGAIN_MS
  }

  #start(job: TakenJob): void {
    const running: RunningJob = { job, stop: new AbortController(), isLost: false, ended: Promise.resolve() }
    this.#running.set(job.id, running)
    running.ended = runJob(this.#options, this.#handler, running)
      .catch((err) => {
        const { kind, id } = job
        this.#options.log.warn(
          { kind, job: id, err },
          'how a job ended was not written: it comes back when its lease ends',
        )
      })
      .finally(() => {
        this.#running.delete(job.id)
        this.wake()
      })
  }

  #lose(lease: Lease): void {
    const running = this.#running.get(lease.key[0] as string)
    if (!running) return
    running.isLost = true
    running.stop.abort(new Error('another process took the job over'))
  }
}
