import { LRUCache } from 'lru-cache'
import type { Config } from '../config.ts'
import type { Logger } from '../lib/log.ts'
import type { Provider } from '../runtime/providers/provider-source.ts'
import type { Keyring } from '../security/keyring.ts'
import type { Storage } from '../storage/open-storage.ts'
import { openProvider, type StoredProvider } from './provider.ts'
import * as providers from './store.ts'

type Options = { config: Pick<Config, 'providers'>; storage: Pick<Storage, 'db'>; keyring: Keyring; log: Logger }

const MAX_OPENED = 1_000

/** The providers of the configuration and of a project. If both have one of the same name, the configuration wins. */
export class ProjectProviders {
  readonly #options: Options
  /** Cached by the stored record. A provider that hasn't changed stays the same object, and keeps its connections. */
  readonly #opened = new LRUCache<string, Provider>({ max: MAX_OPENED })

  constructor(options: Options) {
    this.#options = options
  }

  async load(project_id: string): Promise<readonly Provider[]> {
    const { config, storage } = this.#options
    const stored = await providers.listAll(storage.db, project_id)
    const others = stored.filter(({ name }) => !config.providers.some((configured) => configured.name === name))
    return [...config.providers, ...others.flatMap((provider) => this.#open(provider) ?? [])]
  }

  #open(provider: StoredProvider): Provider | undefined {
    const { keyring, log } = this.#options
    const { project_id, name } = provider
    const key = JSON.stringify(provider)
    try {
      const opened = this.#opened.get(key) ?? openProvider(provider, keyring)
      this.#opened.set(key, opened)
      return opened
    } catch (err) {
      // A damaged row must not make the other providers unusable.
      log.error({ err, project_id, name }, "a provider's key can't be decrypted; set the provider again")
      return undefined
    }
  }
}
