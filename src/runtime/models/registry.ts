import { echo, recall } from './builtin.ts'
import type { LanguageModel } from './language-model.ts'
import { ModelFailure } from './model.ts'
import { splitModelName } from './model-name.ts'
import { type Model } from './model-request.ts'
import { providerModel } from './provider.ts'
import { script } from './script.ts'

export type Provider = {
  name: string
  type: 'openai-compatible' | 'openai' | 'anthropic'
  baseUrl?: string | undefined
  apiKey?: string | undefined
}

export type Models = {
  /** Says what is wrong with a model's name, or undefined. */
  problem(model: string): string | undefined
  get(model: string): Model | Promise<Model>
}

const BUILTIN = new Map<string, Model>([
  ['builtin/echo', echo],
  ['builtin/recall', recall],
  ['builtin/script', script],
])

/** More names than this come only from frequent changes. Models are cheap to make again. */
const CACHED_MODELS = 256

/**
 * Finds the model for `<provider>/<model>`. Only providers that the operator configured exist; there is no fallback to
 * a vendor.
 */
export function createModels(providers: readonly Provider[], now: () => number, retryDelayMs: number): Models {
  const byName = new Map(providers.map((provider) => [provider.name, provider]))
  const cache = new Map<string, Promise<Model>>()

  function problem(model: string): string | undefined {
    const { provider, id } = splitModelName(model)
    if (!provider || !/^[!-~]{1,200}$/.test(id)) return 'must be <provider>/<model>, for example builtin/echo'
    if (provider === 'builtin') {
      return BUILTIN.has(model) ? undefined : `must be one of the built-in models: ${list(BUILTIN.keys())}`
    }
    if (byName.has(provider)) return undefined
    return `${provider} is not configured as a provider; configured: ${list(['builtin', ...byName.keys()])}`
  }

  function get(model: string): Model | Promise<Model> {
    const known = BUILTIN.get(model) ?? cache.get(model)
    if (known) return known
    const { provider: name, id } = splitModelName(model)
    const provider = byName.get(name)
    // A provider may have left the configuration while agents still name it.
    if (!provider) throw new ModelFailure(`The model ${model} is not available: ${problem(model)}`)
    if (cache.size >= CACHED_MODELS) cache.clear()
    const made = languageModel(provider, id).then((language) =>
      providerModel(language, { provider: provider.name, now }, retryDelayMs),
    )
    cache.set(model, made)
    return made
  }

  return { problem, get }
}

function list(names: Iterable<string>): string {
  return [...names].join(', ')
}

/**
 * Packages are loaded on first use. Address and key are always given, because the SDK would otherwise read them from
 * the environment.
 */
async function languageModel({ name, type, baseUrl, apiKey = '' }: Provider, id: string): Promise<LanguageModel> {
  if (type === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    const baseURL = baseUrl ?? 'https://api.anthropic.com/v1'
    return createAnthropic({ baseURL, apiKey, fetch: unredirectedFetch })(id)
  }
  if (type === 'openai') {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const baseURL = baseUrl ?? 'https://api.openai.com/v1'
    // Chat completions and not responses, so that the provider stores nothing of the conversation.
    return createOpenAI({ baseURL, apiKey, name, fetch: unredirectedFetch }).chat(id)
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  if (!baseUrl) throw new ModelFailure(`Model provider ${name} has no baseUrl in the service configuration`)
  return createOpenAICompatible({
    name,
    baseURL: baseUrl,
    includeUsage: true,
    // The schema of an answer is sent as such. Without this, servers would hear only that JSON is wanted.
    supportsStructuredOutputs: true,
    fetch: unredirectedFetch,
    ...(apiKey === '' ? {} : { apiKey }),
  }).chatModel(id)
}

/** A redirect would send the key in `x-api-key` to another address. */
const unredirectedFetch: typeof fetch = (url, init) => fetch(url, { ...init, redirect: 'error' })
