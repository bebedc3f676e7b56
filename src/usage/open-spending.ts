import type { Parts } from '../operation/parts.ts'
import type { Price, ProjectSnapshot } from '../operation/project-snapshot.ts'
import type { RunMeter, Spender, Spending, TakenLines } from '../operation/spending.ts'
import type { CallStatus, MeteredCall, PlannedCall, ReportedCall } from '../runtime/models/meter.ts'
import { splitModelName } from '../runtime/models/model.ts'
import { type Cost, type TokenCount, usdOf } from '../runtime/models/usage.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { LateLines } from './late-lines.ts'
import { costOf, mostCostOf, priceText, ratesFor } from './prices/rates.ts'
import type { Desk, EndedLine, OpenLine, Reservation, ReservationRequest } from './reservation.ts'
import { lineWrites } from './store.ts'

type SpendingParts = Pick<
  Parts,
  'findProject' | 'journal' | 'log' | 'memo' | 'newId' | 'now' | 'prices' | 'storage' | 'telemetry'
> & { desk: Desk }

export function openSpending(parts: SpendingParts): Spending & { close(): Promise<void> } {
  const late = new LateLines(parts)
  const counts = new SpentCounts(parts.telemetry)
  return {
    meter: (spender, project) => new LedgerMeter(spender, project, late, counts, parts),
    heldLines: () => parts.desk.held(),
    close: () => late.close(),
  }
}

/**
 * Makes a line of the ledger for each call. Without a budget it is written with the step, so that no call waits for it.
 * Otherwise it is reserved before the call and written as soon as the call ends, whatever happens to the step: others
 * may need what the call reserved.
 */
class LedgerMeter implements RunMeter {
  readonly #spender: Spender
  #project: ProjectSnapshot | undefined
  readonly #late: LateLines
  readonly #counts: SpentCounts
  readonly #parts: SpendingParts
  #isFirst = true
  /** The first call of the run, while it asks for room. */
  #first: Promise<Reservation | undefined> | undefined
  #ended: EndedLine[] = []
  /** Resolves when the ends of reserved lines are stored, or have to wait for the database. */
  #settling: Promise<unknown> = Promise.resolve()

  constructor(
    spender: Spender,
    project: ProjectSnapshot | undefined,
    late: LateLines,
    counts: SpentCounts,
    parts: SpendingParts,
  ) {
    this.#counts = counts
    this.#spender = spender
    this.#project = project
    this.#late = late
    this.#parts = parts
  }

  async begin(call: PlannedCall): Promise<MeteredCall> {
    const { line, price, project } = await this.#lineOf(call)
    const mostCost = (input: number, output: number) => (price ? mostCostOf(price, input, output) : null)
    // A run doesn't block itself, because its earlier calls release what they reserved before its next call reserves.
    await this.#settling
    let held: Reservation | undefined
    if (project?.budgets.length) held = await this.#reserve({ line, call, mostCost, project })
    // A budget created later doesn't count this run.
    else if (line.purpose === 'run') this.#isFirst = false
    return {
      max_output_tokens: held?.max_output_tokens,
      end: (status, tokens) => this.#end({ line, held, price }, status, tokens),
    }
  }

  async record({ tokens, ...call }: ReportedCall): Promise<Cost> {
    const { line, price, project } = await this.#lineOf(call)
    const isFirst = this.#isFirst && this.#first === undefined
    if (isFirst) this.#isFirst = false
    const held = project?.budgets.length ? await this.#parts.desk.count({ line, isFirst, project }) : undefined
    return this.#end({ line, held, price }, 'completed', tokens)
  }

  /**
   * A run is counted once, so its simultaneous calls wait for the first of them. If that one has no room, the run ends
   * or waits, and they need none.
   */
  async #reserve(wanted: Omit<ReservationRequest, 'isFirst'>): Promise<Reservation | undefined> {
    const { desk } = this.#parts
    if (wanted.line.purpose !== 'run') return desk.reserve({ ...wanted, isFirst: false })
    while (this.#first) await this.#first
    if (!this.#isFirst) return desk.reserve({ ...wanted, isFirst: false })
    this.#first = desk.reserve({ ...wanted, isFirst: true })
    try {
      const held = await this.#first
      this.#isFirst = false
      return held
    } finally {
      this.#first = undefined
    }
  }

  async #lineOf(call: Pick<PlannedCall, 'model' | 'step' | 'attempt' | 'purpose'>): Promise<PlannedLine> {
    const { findProject, memo, newId, now, prices } = this.#parts
    const created_at = now()
    const { model, step, attempt, purpose = this.#spender.purpose } = call
    const line = { ...this.#spender, purpose, id: newId('led', created_at), step, attempt, model, created_at }
    // A price or a budget that is set during the run applies to its next call.
    if (!this.#project || !memo.holds('snapshots', this.#project)) {
      this.#project = await findProject(this.#spender.project_id)
    }
    const project = this.#project
    return { line, project, price: await prices.findIn(project, model, created_at) }
  }

  take(): TakenLines {
    const ended = this.#ended
    this.#ended = []
    return {
      writes: ended.flatMap(lineWrites),
      giveBack: () => {
        this.#ended.unshift(...ended)
      },
    }
  }

  async flush(): Promise<void> {
    const ended = this.#ended
    this.#ended = []
    await Promise.all([this.#settling, this.#late.write(ended)])
  }

  #end({ line, held, price }: SpendingCall, status: CallStatus, tokens: TokenCount): Cost {
    const { input_tokens, output_tokens } = tokens
    const { cached_tokens = 0, cache_write_tokens = 0, reasoning_tokens = 0 } = tokens
    const rates = price && ratesFor(price, input_tokens)
    const cost_nano = rates ? costOf(rates, tokens, status) : null
    this.#counts.add(line.model, tokens, cost_nano)
    const used = { input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens }
    const priced = { cost_nano, price: rates ? priceText(price, rates) : null }
    const ended = { line: { ...line, status, ...used, ...priced }, held }
    if (held?.owner === undefined) this.#ended.push(ended)
    else {
      this.#parts.desk.release(line.id)
      this.#settling = Promise.all([this.#settling, this.#late.settle(ended, held.owner)])
    }
    return cost_nano
  }
}

type PlannedLine = Pick<SpendingCall, 'line' | 'price'> & Pick<ReservationRequest, 'project'>

type SpendingCall = { line: OpenLine; held: Reservation | undefined; price: Price | undefined }

/** Agents can give models any name. Beyond this number, all others are counted as one. */
const MOST_MODELS = 100
const OTHER = { provider: 'other', id: 'other' }

/** Counts the usage and cost of calls, by provider and model, for operators. */
class SpentCounts {
  readonly #telemetry: Telemetry
  readonly #models = new Set<string>()

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry
  }

  add(name: string, { input_tokens, output_tokens }: TokenCount, cost: Cost): void {
    const { tokens, modelTokens, modelCost, modelUnpriced } = this.#telemetry
    if (this.#models.size < MOST_MODELS) this.#models.add(name)
    const { provider, id } = this.#models.has(name) ? splitModelName(name) : OTHER
    tokens.add(input_tokens, 'in')
    tokens.add(output_tokens, 'out')
    modelTokens.add(input_tokens, provider, id, 'in')
    modelTokens.add(output_tokens, provider, id, 'out')
    if (cost === null) modelUnpriced.add(1, provider, id)
    else modelCost.add(usdOf(cost) ?? 0, provider, id)
  }
}
