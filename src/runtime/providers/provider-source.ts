import { type Redact, redactor } from '../tools/fill-secrets.ts'

/** For all models of the provider, or by the provider's own name of a model. */
export type TakesImages = boolean | Readonly<Record<string, boolean>>

export type Provider = {
  name: string
  type: 'openai-compatible' | 'openai' | 'anthropic'
  baseUrl?: string | undefined
  apiKey?: string | undefined
  /** Whether the models accept images. If this is unknown, images are tried. */
  vision?: TakesImages | undefined
  /** Whether requests mark what the provider should cache, if its protocol has such marks. Absent means yes. */
  cache?: boolean | undefined
  /** Set if an API client chose the URL. Then only the guarded client may call it. */
  isGuarded?: true
  /** Set if a project set the key, so the project pays. Otherwise, the operator pays. */
  isOfProject?: true
}

/** Returns every provider that a project's agents can use now. The list stays the same object until one changes. */
export type ProviderSource = (project_id: string) => Promise<readonly Provider[]>

const VENDOR_URLS: Partial<Record<Provider['type'], string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
}

/** The provider's URL. Undefined if it has none, because only a vendor's protocol has a default. */
export function urlOf({ type, baseUrl = VENDOR_URLS[type] }: Provider): string | undefined {
  return baseUrl
}

/** Removes the providers' keys from texts. The search is prepared once for each list of providers. */
export class ProviderKeys {
  readonly #prepared = new WeakMap<readonly Provider[], Redact>()

  redactorOf(providers: readonly Provider[]): Redact {
    const known = this.#prepared.get(providers)
    if (known) return known
    const redact = redactor(keysOf(providers))
    this.#prepared.set(providers, redact)
    return redact
  }
}

export function keysOf(providers: readonly Provider[]): Record<string, string> {
  return Object.fromEntries(providers.map(({ name, apiKey = '' }) => [`${name} key`, apiKey]))
}
