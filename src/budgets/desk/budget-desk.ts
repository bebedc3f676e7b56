import { setTimeout as delay } from 'node:timers/promises'
import type { Parts } from '../../operation/parts.ts'
import type { ProjectSnapshot } from '../../operation/project-snapshot.ts'
import { mostTokensOf } from '../../runtime/models/meter.ts'
import { RunStopped } from '../../runtime/run-in-progress.ts'
import { StepNotKept } from '../../runtime/steps.ts'
import type { Database } from '../../storage/database.ts'
import { isPassing } from '../../storage/failures.ts'
import type { Write } from '../../storage/journal/rows.ts'
import { writeRows } from '../../storage/journal/write-rows.ts'
import { keepLeases, LEASE_MS, type Lease } from '../../storage/leases/lease.ts'
import type { CountedCall, Desk, Reservation, ReservationRequest } from '../../usage/reservation.ts'
import { hasCalled, removeUncalled, reservedWrite } from '../../usage/reserved-store.ts'
import { LEASED_LINES, unsumWrites } from '../../usage/store.ts'
import * as budgets from '../store.ts'
import { type ApplicableBudget, CachedBudget, countsForService } from './applies.ts'
import { type Charge, chargesText, countingOf, reservationOf, undoWrites, unlapseWrites } from './charges.ts'
import { type BudgetCounter, counterName, counterWrite, lockCounters } from './counter-store.ts'
import { type Estimate, grant, isHeldByOthers, isUsedUp } from './grant.ts'
import { lastToOpen, noPrice, noRoom } from './refusal.ts'
import { tellNews } from './thresholds.ts'

export type DeskParts = Pick<
  Parts,
  'config' | 'events' | 'findProject' | 'log' | 'memo' | 'node' | 'now' | 'prices' | 'storage'
>

/** A call that waits for its turn, or for room in a budget. */
type RoomApplication = ReservationRequest & {
  estimate: Estimate
  /** When room was requested. */
  since: number
  resolve(reservation: Reservation | undefined): void
  reject(error: unknown): void
}

/** A call, and the budgets that apply to it now. While it waits, budgets may change and periods may end. */
type Candidate = { waiting: RoomApplication; applied: readonly ApplicableBudget[] }

/** What a transaction has decided: what it writes, and what is announced when it commits. */
type DeskDecision = { writes: Write[]; met: Set<BudgetCounter>; answers: (() => void)[]; heldUp: RoomApplication[] }

/** One transaction gives room to at most this many calls. */
const MOST_AT_ONCE = 200
/** It locks at most this many counters, unless a single call has more. */
const MOST_COUNTERS = 2_000
const AGAIN_MS = 500
/** How long a call waits for amounts that other calls have reserved but may not use. */
const PATIENCE_MS = 30_000
const LOOK_AGAIN_MS = 150

/**
 * Reserves room in budgets before calls are made. Everything that waits during a transaction shares the next one, so a
 * budget that many calls need is locked once for all of them.
 */
export class BudgetDesk implements Desk {
  readonly #parts: DeskParts
  /** This node's reserved lines, whose calls are in progress. */
  readonly #held = new Map<string, Lease>()
  /** Amounts reserved by transactions whose outcome is unknown. The next transaction takes back what was committed. */
  readonly #unsure = new Map<string, readonly Charge[]>()
  readonly #stopRenewing: () => void
  readonly #known = new WeakMap<ProjectSnapshot, readonly CachedBudget[]>()
  #waiting: RoomApplication[] = []
  /** These calls get room unless the calls that reserved it use it up. */
  #heldUp: RoomApplication[] = []
  #isServing = false

  constructor(parts: DeskParts) {
    this.#parts = parts
    const { storage, now, log } = parts
    this.#stopRenewing = keepLeases(LEASED_LINES, {
      db: storage.db,
      now,
      log,
      lease_ms: LEASE_MS,
      held: () => [...this.#held.values()],
      lost: ({ key: [id = ''] }) => this.#held.delete(id),
    })
  }

  async reserve(wanted: ReservationRequest): Promise<Reservation | undefined> {
    const applied = await this.#appliedTo(wanted)
    if (refusesNothing(applied)) return countingOf(await countedOnce(this.#parts.storage.db, wanted, applied))
    const { call, mostCost } = wanted
    const most = mostTokensOf(call, this.#parts.config.budgets.outputTokens)
    const estimate = { ...most, may_cut: call.may_cut === true, mostCost }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...wanted, estimate, since: this.#parts.now(), resolve, reject })
      this.#start()
    })
  }

  async count(reported: CountedCall): Promise<Reservation | undefined> {
    const applied = await this.#appliedTo(reported, { isReported: true })
    return countingOf(await countedOnce(this.#parts.storage.db, reported, applied))
  }

  release(id: string): void {
    this.#held.delete(id)
  }

  held(): ReadonlySet<string> {
    return new Set([...this.#held.keys(), ...this.#unsure.keys()])
  }

  close(): void {
    this.#stopRenewing()
  }

  #start(): void {
    if (this.#isServing) return
    this.#isServing = true
    // Calls that ask in the same pass of the event loop join the transaction.
    setImmediate(() => this.#serve())
  }

  /** A call that ends releases what it didn't use, here or on another node, so the store is asked from time to time. */
  #lookAgain(): void {
    const { gone = [], there = [] } = Object.groupBy(this.#heldUp, ({ call }) =>
      call.signal?.().aborted ? 'gone' : 'there',
    )
    this.#heldUp = []
    for (const { reject } of gone) reject(new RunStopped())
    this.#waiting.unshift(...there)
    if (this.#waiting.length > 0) this.#start()
  }

  #hold(heldUp: readonly RoomApplication[]): void {
    if (heldUp.length === 0) return
    if (this.#heldUp.length === 0) setTimeout(() => this.#lookAgain(), LOOK_AGAIN_MS).unref()
    this.#heldUp.push(...heldUp)
  }

  /** The budgets that apply to a call. A budget in runs counts only the first call of a run. */
  async #appliedTo({ line, isFirst, project }: CountedCall, { isReported = false } = {}): Promise<ApplicableBudget[]> {
    const { findProject, memo, now } = this.#parts
    const present = project && memo.holds('snapshots', project) ? project : await findProject(line.project_id)
    if (!present || present.budgets.length === 0) return []
    const known = this.#budgetsOf(present)
    const countsRun = isFirst && line.purpose === 'run'
    const isForAll = await countsForService({ ...line, isReported }, this.#parts)
    return known
      .filter(({ budget: { limit_kind, project_id } }) =>
        limit_kind === 'runs' ? countsRun : project_id !== null || isForAll,
      )
      .flatMap((one) => one.applied(line, now()) ?? [])
  }

  #budgetsOf(project: ProjectSnapshot): readonly CachedBudget[] {
    const known =
      this.#known.get(project) ??
      budgets.readBudgets(this.#parts.storage.db, project.budgets).map((one) => new CachedBudget(one))
    this.#known.set(project, known)
    return known
  }

  async #serve(): Promise<void> {
    while (this.#waiting.length > 0 || this.#unsure.size > 0) {
      const group = this.#waiting.splice(0, MOST_AT_ONCE)
      try {
        const all = await Promise.all(
          group.map(async (waiting) => ({ waiting, applied: await this.#appliedTo(waiting) })),
        )
        const asking = firstOf(all)
        this.#waiting.unshift(...group.splice(asking.length))
        const { answers, heldUp } = await this.#parts.storage.transaction((db) => this.#reserveAll(db, asking))
        this.#unsure.clear()
        for (const answer of answers) answer()
        this.#hold(heldUp)
      } catch (error) {
        const again = group.filter(({ since }) => isPassing(error) && this.#parts.now() < since + LEASE_MS)
        for (const { reject } of group.filter((one) => !again.includes(one))) {
          reject(new StepNotKept('could not reserve an amount in a budget', { cause: error }))
        }
        // If the database refused a transaction, it will refuse it again.
        if (!isPassing(error)) this.#unsure.clear()
        // The database may be back in a moment. Until then the calls wait; they haven't begun.
        this.#waiting.unshift(...again)
        if (again.length > 0 || this.#unsure.size > 0) await delay(AGAIN_MS, undefined, { ref: false })
      }
    }
    this.#isServing = false
  }

  async #reserveAll(db: Database, group: readonly Candidate[]): Promise<DeskDecision> {
    await this.#takeBackUnsure(db)
    const over = new Map(group.flatMap(({ applied }) => applied.map((one) => [counterName(one.counter), one])))
    const keys = Array.from(over.values(), ({ counter }) => counter)
    const counters = await lockCounters(db, keys)
    const decided: DeskDecision = { writes: [], met: new Set(), answers: [], heldUp: [] }
    for (const { waiting, applied } of group) {
      this.#decide(waiting, await countedOnce(db, waiting, applied), counters, decided)
    }
    await writeRows(db, decided.writes)
    for (const [name, { budget }] of over) {
      const counter = counters.get(name) as BudgetCounter
      await tellNews(db, budget, counter, this.#parts, decided.met.has(counter))
    }
    return decided
  }

  /** A commit whose outcome is unknown may have succeeded. No call was made, even if another node gave up the line. */
  async #takeBackUnsure(db: Database): Promise<void> {
    const ids = [...this.#unsure.keys()]
    if (ids.length === 0) return
    const removed = await removeUncalled(db, ids)
    await writeRows(
      db,
      removed.flatMap((line) => {
        const charges = this.#unsure.get(line.id) ?? []
        return line.status === 'lost' ? [...unsumWrites(line), ...unlapseWrites(charges)] : undoWrites(charges)
      }),
    )
  }

  /** Gives the call room in all budgets that apply to it, or in none. Calls are served in the order of arrival. */
  #decide(
    waiting: RoomApplication,
    applied: readonly ApplicableBudget[],
    counters: Map<string, BudgetCounter>,
    decided: DeskDecision,
  ): void {
    const { line, estimate, since, resolve, reject } = waiting
    const { now, node } = this.#parts
    if (refusesNothing(applied)) {
      decided.answers.push(() => resolve(countingOf(applied)))
      return
    }
    const counterOf = ({ counter }: ApplicableBudget) => counters.get(counterName(counter)) as BudgetCounter
    const granted = grant(
      estimate,
      applied.map((one) => ({ ...one, used: counterOf(one).used, reserved: counterOf(one).reserved })),
    )
    if ('unpriced' in granted) {
      decided.answers.push(() => reject(noPrice(granted.unpriced, line.model)))
      return
    }
    if ('lacking' in granted) {
      const { lacking } = granted
      if (lacking.every(isHeldByOthers) && now() < since + PATIENCE_MS) {
        decided.heldUp.push(waiting)
        return
      }
      for (const { room } of lacking.filter(isUsedUp)) decided.met.add(counterOf(room))
      const refusal = noRoom(lastToOpen(lacking), now())
      decided.answers.push(() => reject(refusal))
      return
    }
    const { input_tokens, mostCost } = estimate
    const { output_tokens } = granted
    const charges = applied.map((one, i) => ({ ...one, held: granted.held[i] ?? 0 }))
    this.#unsure.set(line.id, charges)
    for (const charge of charges) {
      counterOf(charge).reserved += charge.held
      decided.writes.push(counterWrite(charge.counter, { reserved: charge.held, kept: 1 }))
    }
    const lease_until = now() + LEASE_MS
    const most = { input_tokens, cached_tokens: 0, cache_write_tokens: 0, output_tokens, reasoning_tokens: 0 }
    const held = { status: 'reserved' as const, charges: chargesText(charges), owner: node, lease_until }
    const cost_nano = mostCost(input_tokens, output_tokens)
    decided.writes.push(reservedWrite({ ...line, ...most, cost_nano, price: null, ...held }))
    const isBound = charges.some(({ budget }) => budget.limit_kind !== 'runs')
    decided.answers.push(() => {
      this.#held.set(line.id, { key: [line.id], owner: node, until: lease_until })
      resolve(reservationOf(charges, node, isBound ? output_tokens : undefined))
    })
  }
}

/** If no budget refuses calls, nothing is reserved, and the answer may be as long as without budgets. */
function refusesNothing(applied: readonly ApplicableBudget[]): boolean {
  return applied.every(({ budget }) => budget.action === 'notify')
}

/** As many calls as fit in one transaction, and at least one. */
function firstOf(asking: readonly Candidate[]): readonly Candidate[] {
  let counters = 0
  const end = asking.findIndex(({ applied }, i) => (counters += applied.length) > MOST_COUNTERS && i > 0)
  return end < 0 ? asking : asking.slice(0, end)
}

/** A run is counted once, even if an earlier attempt of it has called a model. */
async function countedOnce(
  db: Database,
  { line }: CountedCall,
  applied: readonly ApplicableBudget[],
): Promise<readonly ApplicableBudget[]> {
  const isInRuns = ({ budget }: ApplicableBudget) => budget.limit_kind === 'runs'
  if ((line.attempt ?? 1) <= 1 || line.request_id === null || !applied.some(isInRuns)) return applied
  return (await hasCalled(db, line.request_id)) ? applied.filter((one) => !isInRuns(one)) : applied
}
