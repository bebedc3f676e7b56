import { openModel } from '../providers/open-model.ts'
import { providerModel } from '../providers/provider-model.ts'
import { fetchOf, type Provider, type ProviderSource } from '../providers/provider-source.ts'
import type { Fetch } from '../tools/tool.ts'
import { echo, recall } from './builtin.ts'
import { ModelFailure } from './model.ts'
import { splitModelName } from './model-name.ts'
import { type Model } from './model-request.ts'
import { script } from './script.ts'

const BUILTIN = new Map<string, Model>([
  ['builtin/echo', echo],
  ['builtin/recall', recall],
  ['builtin/script', script],
])

/** More names than this come only from frequent changes. Models are cheap to make again. */
const CACHED_MODELS = 256

/** Says what is wrong with a model's name where there are these providers, or undefined. */
export function modelProblem(model: string, providers: Iterable<string>): string | undefined {
  const { provider, id } = splitModelName(model)
  if (!provider || !/^[!-~]{1,200}$/.test(id)) return 'must be <provider>/<model>, for example builtin/echo'
  if (provider === 'builtin') {
    return BUILTIN.has(model) ? undefined : `must be one of the built-in models: ${[...BUILTIN.keys()].join(', ')}`
  }
  const known = ['builtin', ...providers]
  if (known.includes(provider)) return undefined
  return `${provider} is not configured as a provider; configured: ${known.join(', ')}`
}

type ModelsOptions = { providers: ProviderSource; fetch: Fetch; now: () => number; retryDelayMs: number }

/**
 * Finds the model for `<provider>/<model>`. Only providers that the operator configured exist; there is no fallback to
 * a vendor.
 */
export class Models {
  readonly #options: ModelsOptions
  /** A provider that changes is another object, so its models are made anew. */
  readonly #made = new WeakMap<Provider, Map<string, Promise<Model>>>()

  constructor(options: ModelsOptions) {
    this.#options = options
  }

  get(model: string): Model | Promise<Model> {
    return BUILTIN.get(model) ?? this.#find(model)
  }

  async #find(model: string): Promise<Model> {
    const providers = await this.#options.providers()
    const { provider: name, id } = splitModelName(model)
    const provider = providers.find((known) => known.name === name)
    if (provider) return this.#modelOf(provider, id)
    // A provider may be gone while agents still name it.
    const names = providers.map((known) => known.name)
    throw new ModelFailure(`The model ${model} is not available: ${modelProblem(model, names)}`)
  }

  #modelOf(provider: Provider, id: string): Promise<Model> {
    const { fetch, now, retryDelayMs } = this.#options
    const models = this.#made.get(provider) ?? new Map<string, Promise<Model>>()
    this.#made.set(provider, models)
    const known = models.get(id)
    if (known) return known
    if (models.size >= CACHED_MODELS) models.clear()
    const made = openModel(provider, id, fetchOf(provider, fetch)).then((language) =>
      providerModel(language, { provider: provider.name, now }, retryDelayMs),
    )
    models.set(id, made)
    return made
  }
}
