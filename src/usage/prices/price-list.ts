import type { Config } from '../../config.ts'
import type { Logger } from '../../lib/log.ts'
import type { Price, Prices, Rates } from '../../operation/price.ts'
import { EMBEDDER } from '../../runtime/embedders/embedder.ts'
import { splitModelName } from '../../runtime/models/model-name.ts'
import { type Provider, type ProviderSource, urlOf } from '../../runtime/providers/provider-source.ts'
import type { Memo } from '../../storage/memo.ts'
import type { Storage } from '../../storage/open-storage.ts'
import { type GivenPrice, listOwn } from './price-store.ts'
import { VendorPrices } from './vendor-prices.ts'
import type { VendorModel } from './vendor-prices-worker.ts'

const FREE: Price = {
  source: 'builtin',
  rates: { input: 0, cached_input: 0, output: 0, reasoning: 0, request: 0 },
  tiers: [],
}

type Options = {
  config: Pick<Config, 'prices' | 'memory'>
  storage: Pick<Storage, 'db'>
  memo: Memo
  providers: ProviderSource
  log: Logger
}

/** Prices by `provider/model` and `provider/*`. */
type NamedPrices = ReadonlyMap<string, Price>

/** The prices of a project, and those of them that an actor of the service has set. */
type OwnPrices = { all: NamedPrices; byService: NamedPrices }

const NO_PRICES: OwnPrices = { all: new Map(), byService: new Map() }

/**
 * What models cost: as the configuration says, or else the project, or else the list of public vendors. If the operator
 * pays, a price of the project counts only if an actor of the service has set it.
 */
export class PriceList implements Prices {
  readonly #options: Options
  readonly #configured: NamedPrices
  readonly #vendors = new VendorPrices()

  constructor(options: Options) {
    this.#options = options
    this.#configured = pricesOf(options.config.prices, 'configuration')
  }

  async named(project_id: string): Promise<string[]> {
    return [...this.#configured.keys(), ...(await this.#ofProject(project_id)).all.keys()]
  }

  isConfigured(model: string): boolean {
    return priceIn(this.#configured, model) !== undefined
  }

  async isPaidByService(project_id: string, model: string): Promise<boolean> {
    const { provider } = splitModelName(model)
    if (provider === 'builtin' || model.startsWith(EMBEDDER)) return true
    const known = await this.#provider(project_id, provider)
    return known !== undefined && known.isOfProject !== true
  }

  async find(project_id: string, model: string, time: number): Promise<Price | undefined> {
    const known = await this.#own(project_id, model)
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
      models.map(async (model) =>
        (await this.#own(project_id, model)) ? undefined : this.#vendorModel(project_id, model),
      ),
    )
    this.#vendors.prepare(asked.filter((model) => model !== undefined))
  }

  async #own(project_id: string, model: string): Promise<Price | undefined> {
    const configured = priceIn(this.#configured, model)
    if (configured) return configured
    const { all, byService } = await this.#ofProject(project_id)
    const counting = (await this.isPaidByService(project_id, model)) ? byService : all
    const known = priceIn(counting, model)
    if (known) return known
    const isLocal = model.startsWith(EMBEDDER) && this.#options.config.memory.embedder?.type === 'local'
    return splitModelName(model).provider === 'builtin' || isLocal ? FREE : undefined
  }

  async #ofProject(project_id: string): Promise<OwnPrices> {
    const { memo, storage } = this.#options
    const load = async () => {
      const own = await listOwn(storage.db, project_id)
      const byService = own.filter(({ set_by }) => set_by === 'service')
      return { all: pricesOf(own, 'api'), byService: pricesOf(byService, 'api') }
    }
    return (await memo('prices', project_id, load, () => [project_id])) ?? NO_PRICES
  }

  async #vendorModel(project_id: string, model: string): Promise<VendorModel | undefined> {
    const { provider: name, id } = splitModelName(model)
    if (model.startsWith(EMBEDDER)) {
      const { embedder } = this.#options.config.memory
      return embedder && 'baseUrl' in embedder ? { url: embedder.baseUrl, id } : undefined
    }
    const provider = await this.#provider(project_id, name)
    const url = provider && urlOf(provider)
    return url === undefined ? undefined : { url, id }
  }

  async #provider(project_id: string, name: string): Promise<Provider | undefined> {
    return (await this.#options.providers(project_id)).find((known) => known.name === name)
  }
}

/** The price of the model itself, or else that of all models of its provider. */
function priceIn(prices: NamedPrices, model: string): Price | undefined {
  return prices.get(model) ?? prices.get(`${splitModelName(model).provider}/*`)
}

function pricesOf(given: readonly GivenPrice[], source: Price['source']): NamedPrices {
  return new Map(
    given.map(({ model, ...rates }) => [model, { source, set_for: model, rates: wholeRates(rates), tiers: [] }]),
  )
}

/** Rates that were not given follow from the others. */
export function wholeRates({ input, output, cached_input, reasoning, request }: Omit<GivenPrice, 'model'>): Rates {
  return {
    input,
    cached_input: cached_input ?? input,
    output,
    reasoning: reasoning ?? output,
    request: request ?? 0,
  }
}
