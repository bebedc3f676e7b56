import { setTimeout as delay } from 'node:timers/promises'
import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import type { Parts } from '../../operation/parts.ts'
import type { LiveRun } from '../../runtime/live-runs.ts'
import { type Step, StepNotKept } from '../../runtime/steps.ts'
import { isPassing } from '../../storage/failures.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import { LEASE_MS, type Lease } from '../../storage/leases/lease.ts'
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
  /** Whether the invocation is in the store already, and the steps that are kept of it there. */
  stored: boolean
  kept: readonly Step[]
  /** Whether the answer is recorded for followers. */
  streaming: boolean
}

/** What the store knows of a run while it goes on. Of most runs it hears when they end. */
export class StoredRun {
  readonly #started: Started
  readonly #parts: Parts
  #isStored: boolean
  /** How many steps are in the store, or on their way. */
  #kept: number
  #timer: NodeJS.Timeout | undefined
  #storing: Promise<void> | undefined

  constructor(started: Started, parts: Parts) {
    this.#started = started
    this.#parts = parts
    this.#isStored = started.stored
    this.#kept = started.kept.length
  }

  /** Something has to be waited for: if it takes long, the run is stored, so that every node can list and cancel it. */
  storeSoon(): void {
    if (this.#isStored) return
    this.#timer ??= setTimeout(() => {
      this.#storing ??= this.#store()
    }, STORED_AFTER_MS)
  }

  /** Brings a step to disk, and with the first the run itself. */
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

  /** Resolves when nothing of the run is on its way into the store. Undefined when nothing is. */
  settle(): Promise<void> | undefined {
    clearTimeout(this.#timer)
    return this.#storing
  }

  /** The end of the run, for the journal, with all else that it leaves. */
  ending(ended: Invocation, writes: JournalEntry['writes']): JournalEntry {
    if (!this.#isStored) return { writes: [invocations.insertion(ended), ...writes], reserved: true }
    const ending = invocations.ending(ended, this.#started.owner, this.#kept > 0)
    return { writes, endings: [ending], reserved: true }
  }

  /** The run goes on at a time: what it has done so far is stored, and nobody holds it. */
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

  /** The working copy may change while the run goes on, so the run keeps its own; versions do not change. */
  #stepWrite(step: Step, position: number) {
    const { invocation, definition } = this.#started
    const own = position === 0 && invocation.version === null ? definition : undefined
    return stepWrite(invocation.id, position, step, own)
  }
}

/** While the database is away and the lease holds, what was done is kept for when it is back. */
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
