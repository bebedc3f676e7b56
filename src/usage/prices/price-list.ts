import type { Config } from '../../config.ts'
import type { Lookup } from '../../lib/cache.ts'
import type { Logger } from '../../lib/log.ts'
import type { FindProject, Price, Prices, ProjectSnapshot, Rates } from '../../operation/project-snapshot.ts'
import { EMBEDDER } from '../../runtime/embedders/embedder.ts'
import { splitModelName } from '../../runtime/models/model.ts'
import { urlOf } from '../../runtime/providers/provider-source.ts'
import type { Database } from '../../storage/database.ts'
import { type GivenPrice, listOwn } from './price-store.ts'
import { VendorPrices } from './vendor-prices.ts'
import type { VendorModel } from './vendor-prices-worker.ts'

const FREE: Price = {
  source: 'builtin',
  rates: { input: 0, cached_input: 0, cache_write: 0, output: 0, reasoning: 0, request: 0 },
  tiers: [],
}

type Options = {
  config: Pick<Config, 'prices' | 'memory'>
  findProject: FindProject
  log: Logger
}

/** Prices by `provider/model` and `provider/*`. */
type NamedPrices = ReadonlyMap<string, Price>

/**
 * The prices of models: from the configuration, or else the project, or else the list of public vendors. If the
 * operator pays, a project's price applies only if an actor with access to all projects has set it.
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
    const project = await this.#options.findProject(project_id)
    return [...this.#configured.keys(), ...(project?.prices.all.keys() ?? [])]
  }

  isConfigured(model: string): boolean {
    return priceIn(this.#configured, model) !== undefined
  }

  async isPaidByService(project_id: string, model: string): Promise<boolean> {
    return isPaidByService(await this.#options.findProject(project_id), model)
  }

  async find(project_id: string, model: string, time: number): Promise<Price | undefined> {
    return this.findIn(await this.#options.findProject(project_id), model, time)
  }

  findIn(project: ProjectSnapshot | undefined, model: string, time: number): Lookup<Price> {
    return this.#own(project, model) ?? this.#findListed(project, model, time)
  }

  /** Reads the list of vendors once for many models. */
  async prepare(project_id: string, models: readonly string[]): Promise<void> {
    const project = await this.#options.findProject(project_id)
    const unpriced = models.filter((model) => !this.#own(project, model))
    this.#vendors.prepare(unpriced.flatMap((model) => this.#vendorModel(project, model) ?? []))
  }

  #own(project: ProjectSnapshot | undefined, model: string): Price | undefined {
    const counting = isPaidByService(project, model) ? project?.prices.byService : project?.prices.all
    const known = priceIn(this.#configured, model) ?? (counting && priceIn(counting, model))
    if (known) return known
    const isLocal = model.startsWith(EMBEDDER) && this.#options.config.memory.embedder?.type === 'local'
    return splitModelName(model).provider === 'builtin' || isLocal ? FREE : undefined
  }

  async #findListed(project: ProjectSnapshot | undefined, model: string, time: number): Promise<Price | undefined> {
    const asked = this.#vendorModel(project, model)
    if (!asked) return undefined
    try {
      return await this.#vendors.find(asked, time)
    } catch (err) {
      this.#options.log.error({ err, model }, "a model's price could not be read")
      return undefined
    }
  }

  #vendorModel(project: ProjectSnapshot | undefined, model: string): VendorModel | undefined {
    const { provider: name, id } = splitModelName(model)
    const { embedder } = this.#options.config.memory
    if (model.startsWith(EMBEDDER)) return embedder && 'baseUrl' in embedder ? { url: embedder.baseUrl, id } : undefined
    const provider = project?.providers.find((known) => known.name === name)
    const url = provider && urlOf(provider)
    return url === undefined ? undefined : { url, id }
  }
}

/** Whether the operator pays for calls of the model, because the project hasn't set its provider's key. */
function isPaidByService(project: ProjectSnapshot | undefined, model: string): boolean {
  const { provider } = splitModelName(model)
  if (provider === 'builtin' || model.startsWith(EMBEDDER)) return true
  const known = project?.providers.find(({ name }) => name === provider)
  return known !== undefined && known.isOfProject !== true
}

/** The prices in a project. */
export async function listPrices(db: Database, project_id: string): Promise<ProjectSnapshot['prices']> {
  const own = await listOwn(db, project_id)
  const byService = own.filter(({ set_by }) => set_by === 'service')
  return { all: pricesOf(own, 'api'), byService: pricesOf(byService, 'api') }
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

/** Missing rates follow from the others. */
export function wholeRates(given: Omit<GivenPrice, 'model'>): Rates {
  const { input, output, cached_input, cache_write, reasoning, request } = given
  return {
    input,
    cached_input: cached_input ?? input,
    cache_write: cache_write ?? input,
    output,
    reasoning: reasoning ?? output,
    request: request ?? 0,
  }
}
