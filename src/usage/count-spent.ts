import { type Cost, usdOf } from '../runtime/models/cost.ts'
import { splitModelName } from '../runtime/models/model-name.ts'
import type { TokenCount } from '../runtime/models/usage.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

/** Agents name models as they like. Beyond this number all others are counted as one. */
const MOST_MODELS = 100
const OTHER = { provider: 'other', id: 'other' }

/** Counts what calls use and cost, by provider and model, for operators. */
export class SpentCounts {
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
