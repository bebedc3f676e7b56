import type { Config } from '../config.ts'
import type { Logger } from '../lib/log.ts'
import type { ProviderSource } from '../runtime/providers/provider-source.ts'
import type { Keyring } from '../security/keyring.ts'
import type { Memo } from '../storage/memo.ts'
import type { Storage } from '../storage/open-storage.ts'
import { openProvider } from './provider.ts'
import * as providers from './store.ts'

type Options = { config: Config; storage: Storage; memo: Memo; keyring: Keyring; log: Logger }

/** The providers of the configuration and of a project. If both have one of the same name, the configuration wins. */
export function knownProviders({ config, storage, memo, keyring, log }: Options): ProviderSource {
  const load = async (project_id: string) => {
    const stored = await providers.listAll(storage.db, project_id)
    const others = stored.filter(({ name }) => !config.providers.some((configured) => configured.name === name))
    const opened = others.flatMap((provider) => {
      try {
        return [openProvider(provider, keyring)]
      } catch (err) {
        // A damaged row must not make the other providers unusable.
        log.error(
          { err, project_id, name: provider.name },
          'the key of a provider cannot be opened: set the provider again',
        )
        return []
      }
    })
    return [...config.providers, ...opened]
  }
  return (project_id) =>
    memo(
      'providers',
      project_id,
      () => load(project_id),
      () => [project_id],
    ) as ReturnType<ProviderSource>
}
