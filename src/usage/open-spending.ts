import type { Parts } from '../operation/parts.ts'
import type { Price } from '../operation/price.ts'
import type { RunMeter, Spender, Spending, TakenLines } from '../operation/spending.ts'
import type { Cost } from '../runtime/models/cost.ts'
import type { BegunCall, CallStatus, PlannedCall } from '../runtime/models/meter.ts'
import type { TokenCount } from '../runtime/models/usage.ts'
import { LateLines } from './late-lines.ts'
import type { LedgerLine } from './ledger-line.ts'
import { costOf } from './prices/cost-of.ts'
import { priceText, ratesFor } from './prices/rates.ts'
import { lineWrites } from './store.ts'

type SpendingParts = Pick<Parts, 'log' | 'newId' | 'now' | 'prices' | 'storage' | 'telemetry'>

export function openSpending(parts: SpendingParts): Spending & { close(): Promise<void> } {
  const late = new LateLines(parts)
  return {
    meter: (spender) => new LedgerMeter(spender, late, parts),
    close: () => late.close(),
  }
}

/** Makes a line of the ledger of each call. It is written with the step, so that no call waits for it. */
class LedgerMeter implements RunMeter {
  readonly #spender: Spender
  readonly #late: LateLines
  readonly #parts: SpendingParts
  #ended: LedgerLine[] = []

  constructor(spender: Spender, late: LateLines, parts: SpendingParts) {
    this.#spender = spender
    this.#late = late
    this.#parts = parts
  }

  async begin({ model, step, attempt, ...planned }: PlannedCall): Promise<BegunCall> {
    const { newId, now, prices } = this.#parts
    const created_at = now()
    const price = await prices.find(this.#spender.project_id, model, created_at)
    const id = newId('led', created_at)
    const purpose = planned.purpose ?? this.#spender.purpose
    const begun = { ...this.#spender, purpose, id, step, attempt, model, created_at }
    return { max_output_tokens: undefined, end: (status, tokens) => this.#end(begun, price, status, tokens) }
  }

  take(): TakenLines {
    const lines = this.#ended
    this.#ended = []
    return {
      writes: lines.flatMap((line) => lineWrites(line)),
      endings: [],
      giveBack: () => {
        this.#ended.unshift(...lines)
      },
    }
  }

  flush(): Promise<void> {
    const lines = this.#ended
    this.#ended = []
    return this.#late.write(lines)
  }

  #end(begun: Begun, price: Price | undefined, status: CallStatus, tokens: TokenCount): Cost {
    const { input_tokens, cached_tokens = 0, output_tokens, reasoning_tokens = 0 } = tokens
    const { tokens: counted } = this.#parts.telemetry
    counted.add(input_tokens, 'in')
    counted.add(output_tokens, 'out')
    const rates = price && ratesFor(price, input_tokens)
    const cost_nano = rates ? costOf(rates, tokens, status) : null
    const used = { input_tokens, cached_tokens, output_tokens, reasoning_tokens }
    this.#ended.push({ ...begun, status, ...used, cost_nano, price: rates ? priceText(price, rates) : null })
    return cost_nano
  }
}

type Begun = Spender & Pick<LedgerLine, 'id' | 'step' | 'attempt' | 'model' | 'created_at'>
