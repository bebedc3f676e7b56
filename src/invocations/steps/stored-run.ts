import type { Agent } from '../../agents/agent.ts'
import type { Definition } from '../../agents/definition.ts'
import type { Parts } from '../../operation/parts.ts'
import type { ProjectSnapshot } from '../../operation/project-snapshot.ts'
import type { RunMeter, TakenLines } from '../../operation/spending.ts'
import type { LiveRun } from '../../runtime/following/live-runs.ts'
import { interruptedStep, type RunSpending, type StepEnd } from '../../runtime/run-in-progress.ts'
import { type Step, StepNotKept } from '../../runtime/steps.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import type { LeaseEnd, Write } from '../../storage/journal/rows.ts'
import type { Span } from '../../telemetry/tracing.ts'
import type { WaitingOutcome } from '../approvals/ask-people.ts'
import type { EndedInvocation, Invocation } from '../invocation.ts'
import * as rows from '../rows/invocation-rows.ts'
import { keep } from '../runs.ts'
import { replacedStepWrite, stepWrite } from './step-store.ts'

const NOTHING_KEPT_YET = Promise.resolve()

/** A run that was admitted and stored. Its invocation has the status `running` and a start time. */
export type StartedRun = {
  invocation: Invocation
  agent: Agent
  /** The agent's project, if it is loaded. */
  project?: ProjectSnapshot
  definition: Definition
  run: LiveRun
  /** The owner of the lease: this node. */
  owner: string
  /** The steps that earlier attempts have stored. */
  kept: readonly Step[]
  /** The position of the next step to store. */
  nextPosition: number
  /** Aborted when the service stops. Without this signal, the run isn't interrupted. */
  stop?: AbortSignal | undefined
  /** Whether the answer is recorded for clients that follow the run. */
  streaming: boolean
  /** The request's span, if it is traced. */
  span?: Span | undefined
}

/** What a run writes to the store while it continues and when it ends. */
export class StoredRun {
  readonly #started: StartedRun
  readonly #parts: Pick<Parts, 'journal' | 'now' | 'storage'>
  readonly #meter: RunMeter
  /** How many of the run's steps are stored. */
  #kept: number
  #nextPosition: number
  /** Whether steps have been stored, or may have been. */
  #hasSteps: boolean
  /** Resolves when the latest step is stored, or couldn't be. */
  #keeping = NOTHING_KEPT_YET
  /** The ledger lines in the run's last entry. */
  #spent: TakenLines | undefined

  constructor(started: StartedRun, meter: RunMeter, parts: Pick<Parts, 'journal' | 'now' | 'storage'>) {
    this.#started = started
    this.#meter = meter
    this.#parts = parts
    this.#kept = started.kept.length
    this.#nextPosition = started.nextPosition
    this.#hasSteps = started.kept.length > 0
  }

  /**
   * Stores the steps that aren't stored yet. Tools can end at any time, so each call waits for the one before it, and
   * no step is stored before an earlier one.
   */
  keep(steps: readonly Step[]): Promise<void> {
    const keeping = this.#keeping.then(() => this.#keep(steps))
    this.#keeping = keeping.catch(() => {})
    return keeping
  }

  async #keep(steps: readonly Step[]): Promise<void> {
    const { owner, run } = this.#started
    const writes = this.#stepWrites(steps)
    // The previous call has stored them all.
    if (writes.length === 0) return
    const spent = this.#meter.take()
    this.#hasSteps = true
    const isKept = await keep(run, owner, [...writes, ...spent.writes], this.#parts).catch((cause) => {
      spent.giveBack()
      throw new StepNotKept('a step of the run could not be stored', { cause })
    })
    if (!isKept) {
      spent.giveBack()
      throw new StepNotKept('another node has taken over the run')
    }
    this.#kept += writes.length
    this.#nextPosition += writes.length
  }

  /**
   * The service stops. The next attempt asks the model again for the answer that was cut off, and the receipt contains
   * the cost of both. Steps that aren't stored yet are done again.
   */
  async interrupt(outcome: RunSpending, end: StepEnd): Promise<void> {
    await this.#keeping
    const steps = outcome.steps.slice(0, this.#kept)
    const step = interruptedStep({ ...outcome, steps }, end)
    if (step) await this.keep([...steps, step])
  }

  /** The end of the run and all its effects, as a journal entry. */
  ending(ended: EndedInvocation, writes: JournalEntry['writes']): JournalEntry {
    const { owner, run } = this.#started
    const { insertedBy } = run
    const ending = { ...rows.ending(ended.id, owner, this.#hasSteps), insertedBy }
    return this.#entry([rows.receiptWrite(ended), ...writes], ending)
  }

  /** The run continues later. Its work so far is stored, with `more`, and no node has its lease. */
  waiting(invocation: Invocation, outcome: WaitingOutcome, more: readonly Write[]): JournalEntry {
    const writes = [...this.#replacedWrites(outcome.steps), ...this.#stepWrites(outcome.steps), ...more]
    return this.#entry(writes, rows.waiting(invocation, this.#started.owner, outcome))
  }

  /** Stores what the run has spent even if its last entry isn't written, because the run continues elsewhere. */
  async storeSpending(): Promise<void> {
    this.#spent?.giveBack()
    this.#spent = undefined
    await this.#meter.flush()
  }

  #entry(writes: readonly Write[], ending: LeaseEnd): JournalEntry {
    this.#spent = this.#meter.take()
    return { writes: [...writes, ...this.#spent.writes], endings: [ending], reserved: true }
  }

  /** A repeated wait replaces the last step of earlier attempts. No other step is ever replaced. */
  #replacedWrites(steps: readonly Step[]) {
    const { invocation, kept, nextPosition } = this.#started
    const step = steps[kept.length - 1]
    return step && step !== kept.at(-1) ? [replacedStepWrite(invocation.id, nextPosition - 1, step)] : []
  }

  /**
   * The steps that aren't stored yet. The draft may change during the run, so the run stores its own copy with its
   * first step. Versions don't change.
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
