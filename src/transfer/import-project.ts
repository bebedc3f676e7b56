import { conflict } from '../errors.ts'
import { PROJECT_NAME, PROJECT_NAME_RULE } from '../lib/text/project-name.ts'
import type { Parts } from '../operation/parts.ts'
import * as projects from '../projects/store.ts'
import { checkUrl } from '../security/outgoing/guarded-url.ts'
import { policiesOf } from '../security/outgoing/policies.ts'
import { openSealed, recipientOf, type SealText } from '../security/sealed-box.ts'
import { type CheckedFile, checkFile } from './check/check-file.ts'
import { removeAbandoned, removeAll } from './discard-import.ts'
import { Importing, type ImportNeeds, recordImport, type TellImport } from './import-rows.ts'
import { beginImport, discarding, findState, type ImportState, listUnfinished, sweepsToEnd } from './import-state.ts'
import type { TableDigest, TransferHeader } from './transfer-file.ts'

export type ImportWishes = {
  path: string
  /** The project's name in this service. Default: the name in the file. */
  as?: string | undefined
  /** Whether to leave out the file's secrets. */
  skipSecrets?: boolean | undefined
}

export type ImportReport = {
  project: { id: string; name: string }
  /** The tables as they were read back from the target. */
  tables: TableDigest[]
  /** Tables whose rows differ from those in the file, apart from what was left out with the secrets. */
  differences: { table: string; in_file: number; here: number }[]
  /** Rows that were not imported because their secrets weren't. */
  without_secrets: { table: string; rows: number }[]
  secrets: 'imported' | 'left out'
  /**
   * How many calls this service's ledger already contained, from an earlier import or from before the project was
   * moved.
   */
  known_calls: number
  /** Settings of the project that this service's configuration overrides or refuses. */
  warnings: Warning[]
  /**
   * `resumed`: an earlier process has imported part of the file. `done before`: an earlier process has imported all of
   * it.
   */
  began: 'new' | 'resumed' | 'done before'
}

/**
 * Imports a project. The whole file is checked first. Then rows are written in batches into a project that is paused,
 * and each batch stores the progress, so after a crash the same call continues from there. At the end, the rows are
 * read back and compared with the file.
 */
export async function importProject(parts: ImportNeeds, wishes: ImportWishes, tell: TellImport): Promise<ImportReport> {
  const choose = (header: TransferHeader) => sealOf(parts, header, wishes)
  const file = await checkFile(wishes.path, choose, (table, rows) => tell('checking', table, rows))
  const { db } = parts.storage
  const earlier = await findState(db, file)
  const name = wishes.as ?? file.header.project.name
  const open = choose(file.header)
  const secrets = open !== undefined
  if (!PROJECT_NAME.test(name)) throw conflict(`The project's name ${PROJECT_NAME_RULE}. Choose another one with --as.`)
  if (earlier) {
    const project = await projects.get(db, earlier.project_id)
    if (wishes.as !== undefined && project.name !== name) {
      throw conflict(`The import of this file began as "${project.name}".`)
    }
    if (earlier.status === 'discarded') throw conflict(`First ${discarding(project.name)}.`)
    if (earlier.status === 'unfinished' && earlier.secrets !== secrets) {
      const how = earlier.secrets ? 'with the secrets. Continue it without' : 'without secrets. Continue it with'
      throw conflict(`The import of this file began ${how} --skip-secrets, or ${discarding(project.name)}.`)
    }
  }
  const state = earlier ?? (await begin(parts, file, { name, secrets }))
  const project = await projects.get(db, state.project_id)
  const importing = new Importing(parts, file, state, open, tell)
  if (state.status !== 'done') {
    try {
      await importing.run()
    } catch (error) {
      throw error instanceof Error && error.name !== 'AbortError' ? new UnfinishedImport(error, project.name) : error
    }
  }
  const began = !earlier ? 'new' : earlier.status === 'done' ? 'done before' : 'resumed'
  const warnings = await listWarnings(parts, project.id)
  return { project: { id: project.id, name: project.name }, ...importing.report(), warnings, began }
}

/** Part of the project is imported, and can't be used. */
class UnfinishedImport extends Error {
  constructor(cause: Error, project: string) {
    super(
      `${cause.message} The import into "${project}" is not complete: run the same command again, or ${discarding(project)}.`,
      { cause },
    )
  }
}

/** Returns the function that opens the file's secrets. */
function sealOf(
  { keyring }: ImportNeeds,
  { sealed }: TransferHeader,
  { skipSecrets }: ImportWishes,
): SealText | undefined {
  if (!sealed || skipSecrets) return undefined
  if (sealed.recipient === recipientOf(keyring)) return openSealed(keyring, sealed)
  throw conflict(
    'The secrets in the file are sealed for another service. Export again with --seal-to and what `moorage import --recipient` prints here, or leave them out with --skip-secrets.',
  )
}

async function begin(
  parts: ImportNeeds,
  file: CheckedFile,
  wanted: { name: string; secrets: boolean },
): Promise<ImportState> {
  if ((await listUnfinished(parts.storage.db)).length > 0) await removeAll(parts, removeAbandoned)
  const begun = await parts.storage.transaction(async (db) => {
    const state = await beginImport(db, file, wanted, parts)
    await recordImport(parts, db, state.project_id, 'started')
    return state
  })
  await sweepsToEnd(parts)
  return begun
}

/** Something in an imported project that works differently in this service, and why. */
type Warning = { what: string; names: string[] }

/** What an operation would have refused here because of this service's configuration. */
async function listWarnings(
  { config, storage }: Pick<Parts, 'config' | 'storage'>,
  project_id: string,
): Promise<Warning[]> {
  const { db } = storage
  const policies = policiesOf(config)
  const configured = new Set(config.providers.map(({ name }) => name))
  const ofProject = db.selectFrom('providers').select(['name', 'base_url']).where('project_id', '=', project_id)
  const providers = await ofProject.orderBy('name').execute()
  const webhooks = await db
    .selectFrom('webhooks')
    .select(['id', 'url'])
    .where('project_id', '=', project_id)
    .orderBy('id')
    .execute()
  const warnings = [
    {
      what: 'providers that moorage.yaml defines too, which wins: agents use its address and key',
      names: providers.flatMap(({ name }) => (configured.has(name) ? [name] : [])),
    },
    {
      what: 'providers with an address that this service refuses (outgoing)',
      names: providers.flatMap(({ name, base_url }) =>
        base_url !== null && !configured.has(name) && checkUrl(base_url, policies.outgoing) !== undefined ? [name] : [],
      ),
    },
    {
      what: 'webhooks with an address that this service refuses (webhooks), to which nothing is sent',
      names: webhooks.flatMap(({ id, url }) => (checkUrl(url, policies.webhooks) === undefined ? [] : [id])),
    },
  ]
  return warnings.filter(({ names }) => names.length > 0)
}
