import { join } from 'node:path'
import type { Command } from 'commander'
import type { Config } from '../../../../config.ts'
import { counted } from '../../../../lib/text/counted.ts'
import { compareVersions, findVersion, type ProgramVersion, versionText } from '../../../../lib/version.ts'
import type { Migration } from '../../../../storage/schema/migration.ts'
import type { PlannedMigration, UpgradeCheck } from '../../../../storage/upgrade/check-upgrade.ts'
import type { ReadOnlyStore, ServingNode } from '../../../../storage/upgrade/read-only-store.ts'
import { configOption, dataOption, yesOption } from '../../../command.ts'
import { EXIT, Failure } from '../../../failure.ts'
import { type Column, note, print, printJson, printRecord, printRows, success } from '../../../terminal/output.ts'
import { confirm } from '../../../terminal/prompts.ts'
import type { World } from '../../../world.ts'
import { STORE } from '../backup.ts'

type UpgradeOptions = { config?: string; data?: string; yes?: boolean; json?: boolean }

export function upgrade(command: Command, world: World): void {
  command
    .command('check')
    .description('Show which migrations this version would run, and change nothing')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'print JSON')
    .action(async (options: UpgradeOptions) => {
      const { check } = await examine(world, options)
      const own = findVersion()
      if (options.json)
        printJson(world, { ...own, ...check, serving: check.serving.map((node) => compared(node, own)) })
      else printCheck(world, check, own)
      refuse(check)
      success(world, verdict(check))
    })

  command
    .command('allow')
    .description('Allow a migration that stops older nodes (PostgreSQL)')
    .addOption(configOption())
    .addOption(dataOption())
    .addOption(yesOption())
    .option('--json', 'print JSON')
    .action(async (options: UpgradeOptions) => {
      const { allowUpgrade } = await import('../../../../storage/upgrade/allow-upgrade.ts')
      const { config, check } = await examine(world, options)
      const { url } = config.database
      const breaking = check.migrations.filter(({ breaks }) => breaks).map(({ name }) => name)
      if (check.status !== 'waiting') {
        if (options.json) printJson(world, { allowed: [] })
        return note(world, 'Nothing to allow: this version can start without waiting.')
      }
      if (!url) throw new Failure(EXIT.waiting, IN_USE)
      const nodes = `${check.serving.map(({ node, version }) => `${node} (${version})`).join(', ')}`
      await confirm(world, `The migration stops ${nodes}.`, options)
      await allowUpgrade(url, breaking)
      if (options.json) printJson(world, { allowed: breaking })
      success(world, `Allowed ${breaking.join(', ')}. A new node that is waiting continues within seconds.`)
    })
}

const IN_USE = 'A service is using this data, and the upgrade would break it. Stop it before you start this version.'

async function examine(world: World, options: UpgradeOptions): Promise<{ config: Config; check: UpgradeCheck }> {
  const { readConfig } = await import('../../../connect/local-store.ts')
  const { checkUpgrade } = await import('../../../../storage/upgrade/check-upgrade.ts')
  const config = readConfig(world, options)
  const store = await open(config)
  try {
    return { config, check: await checkUpgrade(store, world.migrations ?? (await knownMigrations())) }
  } finally {
    await store.close()
  }
}

async function knownMigrations(): Promise<readonly Migration[]> {
  return (await import('../../../../storage/schema/released-migrations.ts')).MIGRATIONS
}

async function open(config: Config): Promise<ReadOnlyStore> {
  const { requireSqlite } = await import('../../../connect/local-store.ts')
  const stores = await import('../../../../storage/upgrade/read-only-store.ts')
  const { url } = config.database
  if (!url) {
    requireSqlite(config, '')
    return stores.openSqliteToRead(join(config.data, STORE))
  }
  return stores.openPostgresToRead(url).catch((error: Error) => {
    throw error instanceof stores.StoreAwayError ? new Failure(EXIT.unreachable, error.message) : error
  })
}

type Compared = ServingNode & { compared: 'older' | 'same' | 'newer' | 'unknown' }

/** Builds of the same version count as equally old, even if their commits differ. */
function compared(node: ServingNode, own: ProgramVersion): Compared {
  if (node.version === null) return { ...node, compared: 'unknown' }
  const order = compareVersions(node.version, own.version)
  return { ...node, compared: order < 0 ? 'older' : order > 0 ? 'newer' : 'same' }
}

const MIGRATIONS: Column<PlannedMigration>[] = [
  ['MIGRATION', ({ name }) => name],
  ['STOPS OLDER NODES', ({ breaks }) => (breaks ? 'yes' : 'no')],
  'tables',
  'rows',
  ['DISK', ({ bytes }) => megabytes(bytes)],
  ['TIME', ({ seconds }) => duration(seconds)],
]

const NODES: Column<Compared>[] = [
  ['SERVING NOW', ({ node }) => node],
  ['VERSION', ({ version, commit }) => version && versionText({ version, commit })],
  'compared',
]

function printCheck(world: World, check: UpgradeCheck, own: ProgramVersion): void {
  const { engine, schema, migrations, serving, needed_bytes, free_bytes } = check
  const record = {
    'this version': versionText(own),
    database: engine,
    schema: schema.current ?? 'none',
    'schema after the upgrade': check.unknown.length > 0 ? schema.current : schema.wanted,
    ...(needed_bytes > 0 && { 'disk space needed': `about ${megabytes(needed_bytes)}` }),
    ...(needed_bytes > 0 && free_bytes !== null && { 'disk space free': megabytes(free_bytes) }),
  }
  printRecord(world, record)
  if (migrations.length > 0) {
    print(world, '')
    printRows(world, migrations, MIGRATIONS)
  }
  if (serving.length > 0) {
    print(world, '')
    const nodes = serving.map((node) => compared(node, own))
    printRows(world, nodes, NODES)
  }
}

/** Fails the command if a start would fail. */
function refuse({ status, serving, needed_bytes, free_bytes }: UpgradeCheck): void {
  if (status === 'waiting') {
    const isSqlite = serving.some(({ version }) => version === null)
    if (isSqlite) throw new Failure(EXIT.waiting, IN_USE)
    const nodes = counted(serving.length, 'older node')
    const hint = '  Stop them first. Or start this version, and run `moorage upgrade allow` to let it stop them.'
    throw new Failure(EXIT.waiting, `This version would wait, because the upgrade stops ${nodes}.`, hint)
  }
  if (free_bytes !== null && needed_bytes > free_bytes) {
    const free = `${megabytes(free_bytes)} are free`
    throw new Failure(
      EXIT.failed,
      `The disk is too full: the upgrade needs about ${megabytes(needed_bytes)}, and ${free}.`,
    )
  }
}

function verdict({ status, migrations, unknown, serving }: UpgradeCheck): string {
  if (status === 'new') return 'The database is empty. The first start creates its schema.'
  if (status === 'current') {
    const newer = `A newer version has changed the database (${unknown.join(', ')}), and this version can use it.`
    return unknown.length > 0 ? newer : 'The database is up to date. This version runs no migrations.'
  }
  const seconds = migrations.reduce((sum, planned) => sum + planned.seconds, 0)
  const count = counted(migrations.length, 'migration')
  const start = `At its first start, this version runs ${count}, which takes ${duration(seconds)}.`
  if (migrations.some(({ breaks }) => breaks)) {
    const stopped = serving.length > 0 ? ' This stops the nodes that are serving.' : ''
    return `${start}${stopped} Older versions can't use the database afterwards.`
  }
  return serving.length > 0 ? `${start} Nodes that are serving keep working.` : start
}

function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)} MiB`
}

function duration(seconds: number): string {
  if (seconds === 0) return 'less than a second'
  if (seconds === 1) return 'about a second'
  return seconds < 120 ? `about ${seconds} s` : `about ${Math.round(seconds / 60)} min`
}
