import { type OpenProvider, openProvider, type ProviderOptions } from '../providers/open-provider.ts'
import type { Provider, ProviderSource } from '../providers/provider-source.ts'
import { echo, recall } from './builtin.ts'
import { ModelFailure, splitModelName } from './model.ts'
import { type Model } from './model-request.ts'
import { script } from './script.ts'

const BUILTIN = new Map<string, Model>([
  ['builtin/echo', echo],
  ['builtin/recall', recall],
  ['builtin/script', script],
])

export function isBuiltin(model: string): boolean {
  return BUILTIN.get(model)?.isBuiltin === true
}

/** Says what is wrong with a model's name, given these providers, or undefined. */
export function modelProblem(model: string, providers: Iterable<string>): string | undefined {
  const { provider, id } = splitModelName(model)
  if (!provider || !/^[!-~]{1,200}$/.test(id)) return 'must be <provider>/<model>, for example builtin/echo'
  if (provider === 'builtin') {
    return BUILTIN.has(model) ? undefined : `must be one of the built-in models: ${[...BUILTIN.keys()].join(', ')}`
  }
  const known = ['builtin', ...providers]
  if (known.includes(provider)) return undefined
  return `provider ${provider} is not configured; configured: ${known.join(', ')}`
}

type ModelsOptions = ProviderOptions & { providers: ProviderSource }

/**
 * Finds the model for `<provider>/<model>`. Only providers that the operator configured exist; there is no fallback to
 * a vendor.
 */
export class Models {
  readonly #options: ModelsOptions
  /**
   * The opened providers, by the provider object: a changed provider is a new object, so it is opened again, and the
   * connections of the old one end when they are unused.
   */
  readonly #opened = new WeakMap<Provider, OpenProvider>()
  /** The projects whose providers were requested. */
  readonly #projects = new Set<string>()

  constructor(options: ModelsOptions) {
    this.#options = options
  }

  async get(project_id: string, model: string): Promise<Model> {
    const builtin = BUILTIN.get(model)
    if (builtin) return builtin
    const providers = await this.#options.providers(project_id)
    this.#projects.add(project_id)
    const { provider: name, id } = splitModelName(model)
    const provider = providers.find((known) => known.name === name)
    if (provider) return this.#open(provider).model(id)
    // A provider may have been deleted while agents still name it.
    const names = providers.map((known) => known.name)
    throw new ModelFailure(`The model ${model} is not available: ${modelProblem(model, names)}.`)
  }

  /**
   * Ends the connections of the current providers. If the providers can't be read, their connections end with the
   * process.
   */
  async close(): Promise<void> {
    const known = async (project_id: string) => this.#options.providers(project_id)
    const lists = await Promise.all([...this.#projects].map((project_id) => known(project_id).catch(() => [])))
    await Promise.all(lists.flat().map((provider) => this.#opened.get(provider)?.close()))
  }

  #open(provider: Provider): OpenProvider {
    const opened = this.#opened.get(provider) ?? openProvider(provider, this.#options)
    this.#opened.set(provider, opened)
    return opened
  }
}
