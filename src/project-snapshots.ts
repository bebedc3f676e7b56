import * as budgets from './budgets/store.ts'
import type { Config } from './config.ts'
import type { Logger } from './lib/log.ts'
import type { FindProject, ProjectSnapshot } from './operation/project-snapshot.ts'
import * as pauses from './pauses/store.ts'
import * as projects from './projects/store.ts'
import { ProjectProviders } from './providers/project-providers.ts'
import type { Keyring } from './security/keyring.ts'
import type { Memo } from './storage/memo.ts'
import type { Storage } from './storage/open-storage.ts'
import { listPrices } from './usage/prices/price-list.ts'
import * as webhooks from './webhooks/store.ts'

type Options = { config: Config; storage: Storage; memo: Memo; keyring: Keyring; log: Logger }

/** Loads what requests need to know of a project, all of it together, and keeps it until something of it changes. */
export function projectSnapshots(options: Options): FindProject {
  const { memo, storage } = options
  const { db } = storage
  const providers = new ProjectProviders(options)
  const load = async (ref: string): Promise<ProjectSnapshot | undefined> => {
    const project = await projects.find(db, ref)
    if (!project) return undefined
    const { id, name, limits, stored_bytes } = project
    const [pause, opened, prices, subscribers, over] = await Promise.all([
      pauses.find(db, id),
      providers.load(id),
      listPrices(db, id),
      webhooks.listSubscribers(db, id),
      budgets.listOver(db, id),
    ])
    return { id, name, limits, stored_bytes, pause, providers: opened, prices, subscribers, budgets: over }
  }
  return (ref) =>
    memo(
      'snapshots',
      `project ${ref}`,
      () => load(ref),
      ({ id }) => [id],
    )
}
