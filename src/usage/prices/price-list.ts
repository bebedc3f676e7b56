import type { Config } from '../../config.ts'
import type { Logger } from '../../lib/log.ts'
import type { Price, Prices, Rates } from '../../operation/price.ts'
import { EMBEDDER } from '../../runtime/embedders/embedder.ts'
import { splitModelName } from '../../runtime/models/model-name.ts'
import { type ProviderSource, urlOf } from '../../runtime/providers/provider-source.ts'
import { VendorPrices } from './vendor-prices.ts'
import type { VendorModel } from './vendor-prices-worker.ts'

const FREE: Price = {
  source: 'builtin',
  rates: { input: 0, cached_input: 0, output: 0, reasoning: 0, request: 0 },
  tiers: [],
}

type Options = { config: Pick<Config, 'prices' | 'memory'>; providers: ProviderSource; log: Logger }

/** What models cost: as the configuration says, or else as the list of public vendors does. */
export class PriceList implements Prices {
  readonly #options: Options
  readonly #configured: ReadonlyMap<string, Price>
  readonly #vendors = new VendorPrices()

  constructor(options: Options) {
    this.#options = options
    this.#configured = new Map(options.config.prices.map((price) => [price.model, configured(price)]))
  }

  get named(): string[] {
    return [...this.#configured.keys()]
  }

  async find(project_id: string, model: string, time: number): Promise<Price | undefined> {
    const known = this.#own(model)
    if (known) return known
    const asked = await this.#vendorModel(project_id, model)
    if (!asked) return undefined
    try {
      return await this.#vendors.find(asked, time)
    } catch (err) {
      this.#options.log.error({ err, model }, 'the price of a model is not known now')
      return undefined
    }
  }

  /** Reads the list of vendors once for many models. */
  async prepare(project_id: string, models: readonly string[]): Promise<void> {
    const asked = await Promise.all(
      models.map((model) => (this.#own(model) ? undefined : this.#vendorModel(project_id, model))),
    )
    this.#vendors.prepare(asked.filter((model) => model !== undefined))
  }

  #own(model: string): Price | undefined {
    const { provider } = splitModelName(model)
    const known = this.#configured.get(model) ?? this.#configured.get(`${provider}/*`)
    if (known) return known
    const isLocal = model.startsWith(EMBEDDER) && this.#options.config.memory.embedder?.type === 'local'
    return provider === 'builtin' || isLocal ? FREE : undefined
  }

  async #vendorModel(project_id: string, model: string): Promise<VendorModel | undefined> {
    const { provider: name, id } = splitModelName(model)
    if (model.startsWith(EMBEDDER)) {
      const { embedder } = this.#options.config.memory
      return embedder && 'baseUrl' in embedder ? { url: embedder.baseUrl, id } : undefined
    }
    const provider = (await this.#options.providers(project_id)).find((known) => known.name === name)
    const url = provider && urlOf(provider)
    return url === undefined ? undefined : { url, id }
  }
}

function configured(price: Config['prices'][number]): Price {
  const { input, output, cached_input = input, reasoning = output, request = 0 } = price
  const rates: Rates = { input, cached_input, output, reasoning, request }
  return { source: 'configuration', rates, tiers: [] }
}
