import type { Config } from '../config.ts'
import type { Logger } from '../lib/log.ts'
import type { SecretSource, Secrets } from '../runtime/tools/fill-secrets.ts'
import type { Keyring } from '../security/keyring.ts'
import type { Memo } from '../storage/memo.ts'
import type { Storage } from '../storage/open-storage.ts'
import { purposeOf } from './secret.ts'
import * as secrets from './store.ts'

type Options = { config: Config; storage: Storage; memo: Memo; keyring: Keyring; log: Logger }

/** The secrets of a project and of the configuration. If both have one of the same name, the configuration wins. */
export function knownSecrets({ config, storage, memo, keyring, log }: Options): SecretSource {
  const load = async (project_id: string): Promise<Secrets> => {
    const stored = await secrets.listAll(storage.db, project_id)
    const opened = stored.flatMap(({ name, value, hosts }) => {
      try {
        return [[name, { value: keyring.decrypt(value, purposeOf({ project_id, name })), hosts }] as const]
      } catch (err) {
        // A damaged row must not make the other secrets unusable.
        log.error({ err, project_id, name }, "a secret can't be decrypted; set it again")
        return []
      }
    })
    return { ...Object.fromEntries(opened), ...config.secrets }
  }
  return (project_id) =>
    memo(
      'secrets',
      project_id,
      () => load(project_id),
      () => [project_id],
    ) as Promise<Secrets>
}
