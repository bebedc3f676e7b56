import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import type { Parts } from '../../operation/parts.ts'
import type { LiveRun } from '../../runtime/following/live-runs.ts'
import { type Step, StepNotKept } from '../../runtime/steps.ts'
import { commitPatiently } from '../../storage/journal/commit-patiently.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import type { Write } from '../../storage/journal/rows.ts'
import { LEASE_MS, type Lease } from '../../storage/leases/lease.ts'
import type { Span } from '../../telemetry/tracing.ts'
import type { Invocation } from '../invocation.ts'
import * as rows from '../rows/invocation-rows.ts'
import { stepWrite } from './step-store.ts'

/** A run that waits so long is stored before it ends. Shorter runs are stored once. */
const STORED_AFTER_MS = 250
const NOTHING_KEPT_YET = Promise.resolve()

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
  /** The position of the next step that is stored. */
  nextPosition: number
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
  /** How many of the run's steps are stored. */
  #kept: number
  #nextPosition: number
  /** Whether steps are stored, or may be. */
  #hasSteps: boolean
  /** Resolves when the step that came last is stored, or could not be. */
  #keeping = NOTHING_KEPT_YET
  #timer: NodeJS.Timeout | undefined
  #storing: Promise<void> | undefined

  constructor(started: Started, parts: Parts) {
    this.#started = started
    this.#parts = parts
    this.#isStored = started.stored
    this.#kept = started.kept.length
    this.#nextPosition = started.nextPosition
    this.#hasSteps = started.kept.length > 0
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

  /**
   * Stores the steps that are not stored yet, and the run itself with the first one. Tools end at any time, so one call
   * waits for the other: no step is stored before an earlier one.
   */
  keep(steps: readonly Step[]): Promise<void> {
    const keeping = this.#keeping.then(() => this.#keep(steps))
    this.#keeping = keeping.catch(() => {})
    return keeping
  }

  async #keep(steps: readonly Step[]): Promise<void> {
    const settling = this.settle()
    if (settling) await settling
    const { invocation, owner, run } = this.#started
    const lease = { key: [invocation.id], owner, until: this.#parts.now() + LEASE_MS }
    const writes = this.#stepWrites(steps)
    // The call before this one has stored them all.
    if (writes.length === 0) return
    const entry = this.#isStored
      ? { writes, endings: [rows.renewal(lease)], reserved: true }
      : { writes: [this.#insertion(lease), ...writes], reserved: true }
    this.#hasSteps = true
    const written = await commitPatiently(entry, run.lease, this.#parts).catch((cause) => {
      throw new StepNotKept('a step of the run could not be stored', { cause })
    })
    if (!written) throw new StepNotKept('another node has taken the run over')
    this.#isStored = true
    this.#kept += writes.length
    this.#nextPosition += writes.length
    run.lease = lease
  }

  /** Resolves when nothing of the run is being stored any more. Undefined when nothing is. */
  settle(): Promise<void> | undefined {
    clearTimeout(this.#timer)
    return this.#storing
  }

  /** The end of the run and everything else that it leaves, as a journal entry. */
  ending(ended: Invocation, writes: JournalEntry['writes']): JournalEntry {
    if (!this.#isStored) return { writes: [rows.insertion(ended), ...writes], reserved: true }
    const ending = rows.ending(ended, this.#started.owner, this.#hasSteps)
    return { writes, endings: [ending], reserved: true }
  }

  /** The run goes on at a later time. What it has done so far is stored, with `more`, and no node holds it. */
  waiting(invocation: Invocation, steps: readonly Step[], wake_at: number, more: readonly Write[]): JournalEntry {
    const { owner } = this.#started
    const writes = [...this.#stepWrites(steps), ...more]
    if (this.#isStored) return { writes, endings: [rows.waiting(invocation, owner, wake_at)], reserved: true }
    const { keyed } = invocation
    return { writes: [rows.insertionUnfinished(invocation, { keyed, wake_at }), ...writes], reserved: true }
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
    return rows.insertionUnfinished(invocation, { lease, keyed: invocation.keyed })
  }

  /**
   * The steps that are not stored yet. The working copy may change while the run goes on, so the run stores its own
   * copy with its first step. Versions do not change.
   */
  #stepWrites(steps: readonly Step[]) {
    const { invocation, definition } = this.#started
    return steps.slice(this.#kept).map((step, i) => {
      const isFirst = this.#kept + i === 0
      const own = isFirst && invocation.version === null ? definition : undefined
      return stepWrite(invocation.id, this.#nextPosition + i, step, own)
    })
  }
}
