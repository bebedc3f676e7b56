import type { Config } from '../config.ts'
import type { Logger } from '../lib/log.ts'
import type { SecretSource, Secrets } from '../runtime/fill-secrets.ts'
import type { Keyring } from '../security/keyring.ts'
import type { Memo } from '../storage/memo.ts'
import type { Storage } from '../storage/open-storage.ts'
import { purposeOf } from './secret.ts'
import * as secrets from './store.ts'

type Options = { config: Config; storage: Storage; memo: Memo; keyring: Keyring; log: Logger }

/** Those that were set by the API, and over them those of the configuration. */
export function knownSecrets({ config, storage, memo, keyring, log }: Options): SecretSource {
  const load = async (): Promise<Secrets> => {
    const stored = await secrets.listAll(storage.db)
    const opened = stored.flatMap(({ name, value, hosts }) => {
      try {
        return [[name, { value: keyring.decrypt(value, purposeOf(name)), hosts }] as const]
      } catch (err) {
        // One row that was tampered with must not take the other secrets away.
        log.error({ err, name }, 'a secret cannot be opened: set it again')
        return []
      }
    })
    return { ...Object.fromEntries(opened), ...config.secrets }
  }
  return () => memo('secrets', 'all', load) as Secrets | Promise<Secrets>
}
