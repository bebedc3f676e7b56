import type { Parts } from '../operation/parts.ts'
import type { Price } from '../operation/price.ts'
import type { RunMeter, Spender, Spending, TakenLines } from '../operation/spending.ts'
import type { Cost } from '../runtime/models/cost.ts'
import type { BegunCall, CallStatus, PlannedCall } from '../runtime/models/meter.ts'
import type { TokenCount } from '../runtime/models/usage.ts'
import { SpentCounts } from './count-spent.ts'
import { LateLines } from './late-lines.ts'
import { costOf } from './prices/cost-of.ts'
import { mostCostOf, priceText, ratesFor } from './prices/rates.ts'
import type { BegunLine, Desk, EndedLine, Reservation } from './reservation.ts'
import { lineEnding, lineWrites } from './store.ts'

type SpendingParts = Pick<Parts, 'log' | 'newId' | 'now' | 'prices' | 'storage' | 'telemetry'> & { desk: Desk }

export function openSpending(parts: SpendingParts): Spending & { close(): Promise<void> } {
  const late = new LateLines(parts)
  const counts = new SpentCounts(parts.telemetry)
  return {
    meter: (spender) => new LedgerMeter(spender, late, counts, parts),
    heldLines: () => parts.desk.held(),
    close: () => late.close(),
  }
}

/**
 * Makes a line of the ledger of each call. Without a budget it is written with the step, so that no call waits for it;
 * else it is reserved before the call, and ends with the step.
 */
class LedgerMeter implements RunMeter {
  readonly #spender: Spender
  readonly #late: LateLines
  readonly #counts: SpentCounts
  readonly #parts: SpendingParts
  #isFirst = true
  #ended: EndedLine[] = []

  constructor(spender: Spender, late: LateLines, counts: SpentCounts, parts: SpendingParts) {
    this.#counts = counts
    this.#spender = spender
    this.#late = late
    this.#parts = parts
  }

  async begin(call: PlannedCall): Promise<BegunCall> {
    const { desk, newId, now, prices } = this.#parts
    const created_at = now()
    const { model, step, attempt, purpose = this.#spender.purpose } = call
    const line = { ...this.#spender, purpose, id: newId('led', created_at), step, attempt, model, created_at }
    const price = await prices.find(this.#spender.project_id, model, created_at)
    const mostCost = (input: number, output: number) => (price ? mostCostOf(price, input, output) : null)
    const ended = [...this.#ended]
    const settled = () => {
      this.#ended = this.#ended.filter((one) => !ended.includes(one))
      this.#release(ended)
    }
    const held = await desk.reserve({ line, call, mostCost, isFirst: this.#isFirst, ended, settled })
    if (purpose === 'run') this.#isFirst = false
    return {
      max_output_tokens: held?.max_output_tokens,
      end: (status, tokens) => this.#end({ line, held, price }, status, tokens),
    }
  }

  take(): TakenLines {
    const ended = this.#ended
    this.#ended = []
    this.#release(ended)
    return {
      writes: ended.flatMap((line) => lineWrites(line)),
      endings: ended.flatMap((line) => lineEnding(line)),
      giveBack: () => {
        this.#ended.unshift(...ended)
      },
    }
  }

  flush(): Promise<void> {
    const ended = this.#ended
    this.#ended = []
    this.#release(ended)
    return this.#late.write(ended)
  }

  #release(ended: readonly EndedLine[]): void {
    const reserved = ended.filter(({ held }) => held?.owner !== undefined)
    if (reserved.length > 0) this.#parts.desk.release(reserved.map(({ line }) => line.id))
  }

  #end({ line, held, price }: Begun, status: CallStatus, tokens: TokenCount): Cost {
    const { input_tokens, cached_tokens = 0, output_tokens, reasoning_tokens = 0 } = tokens
    const rates = price && ratesFor(price, input_tokens)
    const cost_nano = rates ? costOf(rates, tokens, status) : null
    this.#counts.add(line.model, tokens, cost_nano)
    const used = { input_tokens, cached_tokens, output_tokens, reasoning_tokens }
    const priced = { cost_nano, price: rates ? priceText(price, rates) : null }
    this.#ended.push({ line: { ...line, status, ...used, ...priced }, held })
    return cost_nano
  }
}

type Begun = { line: BegunLine; held: Reservation | undefined; price: Price | undefined }
