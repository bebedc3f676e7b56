import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../../../config.ts'
import { FILES_FOLDER } from '../../../storage/bytes/byte-store.ts'
import { configOption, dataOption, yesOption } from '../../command.ts'
import { EXIT, Failure } from '../../failure.ts'
import { note, print, printJson, success, warn } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'
import { MANIFEST, MASTER_KEY, type Manifest, STORE, sealOf } from './backup.ts'
import {
  copyDurably,
  copyFiles,
  listLost,
  lostText,
  type Replacement,
  refuseLinks,
  replaceAll,
  sha256Of,
} from './copy-files.ts'

type RestoreOptions = {
  config?: string
  data?: string
  running?: boolean
  allowMissing?: boolean
  yes?: boolean
  json?: boolean
}

export function restore(command: Command, world: World): void {
  command
    .argument('<folder>', 'a folder from `moorage backup`')
    .addOption(configOption())
    .addOption(dataOption())
    .addOption(yesOption())
    .option('--running', "don't pause the service: runs that were in progress continue when it starts")
    .option('--allow-missing', 'restore the rest even if files are missing or altered')
    .option('--json', 'print JSON')
    .action(async (given: string, options: RestoreOptions) => {
      const { leaveWal, pauseSqlite, replaceSqlite, StoreInUseError } = await import('../../../storage/sqlite-copy.ts')
      const { inspectSqlite, listExpectedBytes } = await import('../../../storage/inspect.ts')
      const { readConfig, refusePostgres } = await import('../../connect/local-store.ts')
      const config = readConfig(world, options)
      refusePostgres(
        config,
        'pg_restore --clean --if-exists --single-transaction --dbname="$DATABASE_URL" moorage.dump',
      )
      const folder = resolve(world.cwd, given)
      const manifest = await readManifest(folder)
      const key = await chooseKey(config, folder, manifest)
      refuseLinks(folder)
      const expected = listExpectedBytes(join(folder, STORE))
      const lost = await listLost(folder, expected)
      if (lost.length > 0 && !options.allowMissing) {
        const hint = '  Use another backup, or restore the rest with --allow-missing.'
        throw new Failure(EXIT.failed, `Nothing was restored from ${folder}: ${lostText(lost)}`, hint)
      }

      const store = join(config.data, STORE)
      const suffix = `before-restore-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`
      if (existsSync(store))
        await confirm(world, `Replace ${store} with the backup of ${manifest.created_at}?`, options)
      mkdirSync(config.data, { recursive: true, mode: 0o700 })
      const drafts = join(config.data, `.restoring-${process.pid}`)
      const replacing = (name: string): Replacement => {
        const path = join(config.data, name)
        return { draft: join(drafts, name), path, kept: `${path}.${suffix}` }
      }
      try {
        copyFiles(
          folder,
          drafts,
          expected.map(({ id }) => id),
        )
        copyDurably(join(folder, STORE), join(drafts, STORE))
        inspectSqlite(join(drafts, STORE))
        if (!options.running) {
          pauseSqlite(join(drafts, STORE), `Restored from the backup of ${manifest.created_at}`, Date.now())
        }
        if (key === 'from backup') copyDurably(join(folder, MASTER_KEY), join(drafts, MASTER_KEY))
        leaveWal(store)
        const beside = [...(key === 'from backup' ? [MASTER_KEY] : []), FILES_FOLDER].map(replacing)
        replaceAll(beside, () => replaceSqlite(store, join(drafts, STORE), `${store}.${suffix}`))
      } catch (error) {
        if (error instanceof Failure) throw error
        if (error instanceof StoreInUseError)
          throw new Failure(EXIT.failed, `${error.message}. Stop the service first.`)
        throw new Failure(EXIT.failed, `Nothing was restored: ${(error as Error).message}`)
      } finally {
        rmSync(drafts, { recursive: true, force: true })
      }
      success(world, `Restored the backup of ${manifest.created_at}`)
      if (lost.length > 0) warn(world, lostText(lost))
      const kept = existsSync(`${store}.${suffix}`) ? `${store}.${suffix}` : null
      if (kept) note(world, `  The previous data was moved to ${kept}`)
      if (!options.running) {
        note(world, '  The service is paused: no runs start and nothing is sent until `moorage resume --all-projects`')
      }
      if (options.json) printJson(world, { store, kept, created_at: manifest.created_at, paused: !options.running })
      else print(world, store)
    })
}

async function readManifest(folder: string): Promise<Manifest> {
  const file = join(folder, MANIFEST)
  if (!existsSync(file)) throw new Failure(EXIT.notFound, `${folder} is not a backup: it contains no ${MANIFEST}.`)
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as Manifest
  if (manifest.format !== 1)
    throw new Failure(EXIT.failed, `${file} was made by a version of Moorage that this one can't read.`)
  if ((await sha256Of(join(folder, STORE))) === manifest.sha256) return manifest
  throw new Failure(EXIT.failed, `${join(folder, STORE)} is damaged: its SHA-256 doesn't match the backup's manifest.`)
}

/** Finds the master key. Without its key, a store is of little use because its secrets can't be decrypted. */
async function chooseKey(config: Config, folder: string, manifest: Manifest): Promise<'in place' | 'from backup'> {
  const { masterKeyFingerprint, loadMasterKey } = await import('../../../security/keyring.ts')
  const fits = (options: Parameters<typeof loadMasterKey>[0]) => {
    const key = loadMasterKey(options)
    if (masterKeyFingerprint(key) !== manifest.master_key) return false
    if (sealOf(manifest, key) === manifest.seal) return true
    throw new Failure(
      EXIT.failed,
      `${join(folder, MANIFEST)} was changed since \`moorage backup\` wrote it: its seal doesn't match.`,
    )
  }
  const inPlace = config.masterKey !== undefined || existsSync(join(config.data, MASTER_KEY))
  if (inPlace && fits({ masterKey: config.masterKey, dataDir: config.data })) return 'in place'
  if (config.masterKey === undefined && existsSync(join(folder, MASTER_KEY)) && fits({ dataDir: folder })) {
    return 'from backup'
  }
  throw new Failure(
    EXIT.failed,
    `The master key of this backup was not found (fingerprint: ${manifest.master_key}).`,
    `  Put it into ${join(config.data, MASTER_KEY)}, or set MOORAGE_MASTER_KEY.`,
  )
}
