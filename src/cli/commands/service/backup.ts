import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../../../config.ts'
import { counted } from '../../../lib/text/counted.ts'
import { keyedChecksum, loadMasterKey, masterKeyFingerprint } from '../../../security/keyring.ts'
import { configOption, dataOption } from '../../command.ts'
import { EXIT, Failure } from '../../failure.ts'
import { note, print, printJson, success, warn } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import { copyFiles, listLost, lostText, removeUnexpected, sha256Of } from './copy-files.ts'

/** What a backup contains. It is written last, so a folder without it isn't a complete backup. */
export type Manifest = {
  format: 1
  created_at: string
  schema_version: number | undefined
  /** The fingerprint of the master key that encrypts the store's secrets. */
  master_key: string | undefined
  bytes: number
  sha256: string
  /** How many uploaded files the backup contains, with their bytes. */
  files: number
  /**
   * A checksum of all fields above, made with the master key. Without the key, another backup can't be passed off as
   * this one.
   */
  seal: string
}

/** The seal for a backup with this content. */
export function sealOf(content: Omit<Manifest, 'seal'>, masterKey: Buffer): string {
  const { format, created_at, schema_version, master_key, bytes, sha256, files } = content
  const fields = [format, created_at, schema_version ?? null, master_key ?? null, bytes, sha256, files]
  return keyedChecksum(masterKey, 'backup', JSON.stringify(fields))
}

export const MANIFEST = 'manifest.json'
export const STORE = 'moorage.db'
export const MASTER_KEY = 'master.key'

type BackupOptions = {
  config?: string
  data?: string
  includeMasterKey?: boolean
  allowMissing?: boolean
  json?: boolean
}

export function backup(command: Command, world: World): void {
  command
    .argument('[folder]', 'a new folder (default: moorage-backup-<time>)')
    .option('--include-master-key', 'include master.key, so that the backup alone is enough to read its secrets')
    .option('--allow-missing', 'back up the rest even if files are missing or altered')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'print JSON')
    .action(async (given: string | undefined, options: BackupOptions) => {
      const { inspectSqlite } = await import('../../../storage/inspect.ts')
      const { readConfig, requireSqlite } = await import('../../connect/local-store.ts')
      const config = readConfig(world, options)
      const store = requireSqlite(config, 'pg_dump --format=custom --file=moorage.dump "$DATABASE_URL"')
      const created_at = new Date().toISOString()
      const folder = resolve(world.cwd, given ?? `moorage-backup-${created_at.replaceAll(/[:.]/g, '-')}`)
      if (existsSync(folder) && readdirSync(folder).length > 0) {
        throw new Failure(EXIT.failed, `${folder} is not empty.`, '  Choose a new folder.')
      }

      // A store of another version is refused before anything is written.
      const masterKey = requireMasterKey(config, inspectSqlite(store, { isWhole: true }).master_key)
      note(world, `Copying ${store} …`, 'dim')
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const copy = join(folder, STORE)
      const { files, lost } = await copyTogether(config.data, folder)
      if (lost.length > 0 && !options.allowMissing) {
        for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true })
        throw new Failure(
          EXIT.failed,
          `Nothing was backed up: ${lostText(lost)}`,
          `  Put them back into ${config.data}, or back up the rest with --allow-missing.`,
        )
      }
      const { schema_version, master_key } = inspectSqlite(copy)
      if (options.includeMasterKey) copyMasterKey(config.data, folder)
      const { size: bytes } = statSync(copy)
      const sha256 = await sha256Of(copy)
      const content = { format: 1 as const, created_at, schema_version, master_key, bytes, sha256, files }
      const manifest: Manifest = { ...content, seal: sealOf(content, masterKey) }
      writeFileSync(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flush: true })

      success(world, `Backed up ${store} (${Math.ceil(bytes / 1024)} KiB) with ${counted(files, 'file')}`)
      if (lost.length > 0) warn(world, lostText(lost))
      if (!options.includeMasterKey) {
        note(
          world,
          "  The backup doesn't contain the master key. Keep a copy of master.key (or MOORAGE_MASTER_KEY) somewhere else.",
        )
      }
      if (options.json) printJson(world, { folder, ...manifest })
      else print(world, folder)
    })
}

/** Copies the store and its files. `lost` are files that the copy of the store expects but that are missing. */
async function copyTogether(data: string, folder: string): Promise<{ files: number; lost: string[] }> {
  const { copySqlite } = await import('../../../storage/sqlite-copy.ts')
  const { listExpectedBytes } = await import('../../../storage/inspect.ts')
  const copy = join(folder, STORE)
  // Copied first, so that a file is in the copy even if it is deleted before the store is copied.
  copyFiles(data, folder)
  for (let tries = 1; ; tries++) {
    rmSync(copy, { force: true })
    copySqlite(join(data, STORE), copy)
    const expected = listExpectedBytes(copy)
    // Copies files that were uploaded in the meantime, and those that were only partly uploaded before.
    const late = new Set(await listLost(folder, expected))
    copyFiles(data, folder, [...late])
    const lost = await listLost(
      folder,
      expected.filter(({ id }) => late.has(id)),
    )
    // A file may have been deleted after the store was copied. A second copy of the store then doesn't expect it.
    if (lost.length > 0 && tries === 1) continue
    removeUnexpected(folder, expected)
    return { files: expected.length - lost.length, lost }
  }
}

/** The key that encrypts the store's secrets. It also seals the backup. */
function requireMasterKey(config: Pick<Config, 'data' | 'masterKey'>, fingerprint: string | undefined): Buffer {
  const isHere = config.masterKey !== undefined || existsSync(join(config.data, MASTER_KEY))
  const key = isHere ? loadMasterKey({ masterKey: config.masterKey, dataDir: config.data }) : undefined
  if (key && (fingerprint === undefined || masterKeyFingerprint(key) === fingerprint)) return key
  throw new Failure(
    EXIT.failed,
    `The master key of this data was not found (fingerprint: ${fingerprint}).`,
    `  Put it into ${join(config.data, MASTER_KEY)}, or set MOORAGE_MASTER_KEY.`,
  )
}

function copyMasterKey(data: string, folder: string): void {
  const key = join(data, MASTER_KEY)
  if (!existsSync(key)) {
    throw new Failure(
      EXIT.notFound,
      `There is no ${key}, because the master key is in the configuration. Back it up from there.`,
    )
  }
  copyFileSync(key, join(folder, MASTER_KEY))
}
