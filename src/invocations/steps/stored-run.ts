import { setTimeout as delay } from 'node:timers/promises'
import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import type { Parts } from '../../operation/parts.ts'
import type { LiveRun } from '../../runtime/following/live-runs.ts'
import { type Step, StepNotKept } from '../../runtime/steps.ts'
import { isPassing } from '../../storage/failures.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import { LEASE_MS, type Lease } from '../../storage/leases/lease.ts'
import type { Span } from '../../telemetry/tracing.ts'
import type { Invocation } from '../invocation.ts'
import * as invocations from '../store.ts'
import { stepWrite } from './step-store.ts'

/** A run that waits so long is stored before it ends. Shorter runs are stored once. */
const STORED_AFTER_MS = 250
const COMMIT_AGAIN_MS = 500

/** A run that may begin. The status of `invocation` is running, and it has its start time. */
export type Started = {
  invocation: Invocation
  agent: Agent
  definition: Definition
  run: LiveRun
  /** The owner of the lease: this node. */
  owner: string
  /** Whether the invocation is already stored, and its stored steps. */
  stored: boolean
  kept: readonly Step[]
  /** Whether the answer is recorded for followers. */
  streaming: boolean
  /** The request in its trace, if there is one. */
  span?: Span | undefined
}

/** What the store knows about a run that goes on. Most runs are stored only when they end. */
export class StoredRun {
  readonly #started: Started
  readonly #parts: Parts
  #isStored: boolean
  /** How many steps are stored, or are being stored. */
  #kept: number
  #timer: NodeJS.Timeout | undefined
  #storing: Promise<void> | undefined

  constructor(started: Started, parts: Parts) {
    this.#started = started
    this.#parts = parts
    this.#isStored = started.stored
    this.#kept = started.kept.length
  }

  /**
   * The run has to wait for something. If that takes long, the run is stored, so that every node can list and cancel
   * it.
   */
  storeSoon(): void {
    if (this.#isStored) return
    this.#timer ??= setTimeout(() => {
      this.#storing ??= this.#store()
    }, STORED_AFTER_MS)
  }

  /** Stores a step on disk, and the run itself with the first one. */
  async keep(step: Step, position: number): Promise<void> {
    const settling = this.settle()
    if (settling) await settling
    const { invocation, owner, run } = this.#started
    const lease = { key: [invocation.id], owner, until: this.#parts.now() + LEASE_MS }
    const write = this.#stepWrite(step, position)
    const entry = this.#isStored
      ? { writes: [write], endings: [invocations.renewal(lease)], reserved: true }
      : { writes: [this.#insertion(lease), write], reserved: true }
    this.#kept++
    const written = await commitPatiently(entry, run.lease, this.#parts).catch((cause) => {
      throw new StepNotKept('a step of the run could not be stored', { cause })
    })
    if (!written) throw new StepNotKept('another node has taken the run over')
    this.#isStored = true
    run.lease = lease
  }

  /** Resolves when nothing of the run is being stored any more. Undefined when nothing is. */
  settle(): Promise<void> | undefined {
    clearTimeout(this.#timer)
    return this.#storing
  }

  /** The end of the run and everything else that it leaves, as a journal entry. */
  ending(ended: Invocation, writes: JournalEntry['writes']): JournalEntry {
    if (!this.#isStored) return { writes: [invocations.insertion(ended), ...writes], reserved: true }
    const ending = invocations.ending(ended, this.#started.owner, this.#kept > 0)
    return { writes, endings: [ending], reserved: true }
  }

  /** The run goes on at a later time. What it has done so far is stored, and no node holds it. */
  waiting(invocation: Invocation, steps: readonly Step[], wake_at: number): JournalEntry {
    const { owner } = this.#started
    const writes = steps.slice(this.#kept).map((step, i) => this.#stepWrite(step, this.#kept + i))
    if (this.#isStored) return { writes, endings: [invocations.waiting(invocation, owner, wake_at)], reserved: true }
    const { keyed } = invocation
    return { writes: [invocations.insertionUnfinished(invocation, { keyed, wake_at }), ...writes], reserved: true }
  }

  async #store(): Promise<void> {
    const { invocation, owner, run } = this.#started
    const lease = { key: [invocation.id], owner, until: this.#parts.now() + LEASE_MS }
    try {
      this.#isStored = await this.#parts.journal.commit({ writes: [this.#insertion(lease)] })
      run.lease = lease
    } catch (err) {
      this.#parts.log.warn({ err, request_id: invocation.id }, 'could not store a running invocation')
    }
  }

  #insertion(lease: Lease) {
    const { invocation } = this.#started
    return invocations.insertionUnfinished(invocation, { lease, keyed: invocation.keyed })
  }

  /** The working copy may change while the run goes on, so the run stores its own copy. Versions do not change. */
  #stepWrite(step: Step, position: number) {
    const { invocation, definition } = this.#started
    const own = position === 0 && invocation.version === null ? definition : undefined
    return stepWrite(invocation.id, position, step, own)
  }
}

/** While the database is away and the lease lasts, the entry is kept and tried again. */
export async function commitPatiently(
  entry: JournalEntry,
  lease: Lease | undefined,
  { journal, now }: Parts,
): Promise<boolean> {
  for (;;) {
    try {
      return await journal.commit(entry)
    } catch (error) {
      if (!isPassing(error) || lease === undefined || lease.until <= now()) throw error
      await delay(COMMIT_AGAIN_MS, undefined, { ref: false })
    }
  }
}
