import type { Engine } from '../database.ts'
import { breaking, CONSENT, isAllowed } from '../schema/consent.ts'
import { newerText } from '../schema/migrate.ts'
import type { Migration, TouchedRows } from '../schema/migration.ts'
import { firstRelease, isUnreleased, UNRELEASED } from '../schema/released-migrations.ts'
import type { ReadOnlyStore, ServingNode } from './read-only-store.ts'

/** What a migration does to a store, as far as that can be predicted. */
export type PlannedMigration = {
  name: string
  breaks: boolean
  /** The tables of which the migration reads or writes every row. */
  tables: string[]
  rows: number
  /** The disk space that the migration needs while it runs. */
  bytes: number
  seconds: number
}

export type UpgradeCheck = {
  engine: string
  /** `current` is null if the database has no schema yet. */
  schema: { current: string | null; wanted: string; supported_from: string }
  /**
   * `new`: the first start creates the schema. `current`: a start changes nothing. `ready`: a start migrates.
   * `waiting`: a start would wait, because it would break serving nodes.
   */
  status: 'new' | 'current' | 'ready' | 'waiting'
  migrations: PlannedMigration[]
  /** Migrations of a newer version with which this version can work. */
  unknown: string[]
  serving: ServingNode[]
  needed_bytes: number
  free_bytes: number | null
}

/**
 * How fast a migration reads or writes rows, and how much disk space it needs for the table and the database's log.
 * Measured with a million log entries on two cores that were also busy with other work.
 */
const COSTS = {
  sqlite: {
    read: { rowsPerSecond: 200_000, bytesOf: ({ rows }: TableSize) => 120 * rows },
    write: { rowsPerSecond: 200_000, bytesOf: ({ bytes }: TableSize) => 2 * bytes },
  },
  postgres: {
    read: { rowsPerSecond: 90_000, bytesOf: ({ rows }: TableSize) => 250 * rows },
    write: { rowsPerSecond: 15_000, bytesOf: ({ bytes }: TableSize) => 4 * bytes },
  },
} satisfies Record<Engine, Record<TouchedRows, { rowsPerSecond: number; bytesOf(table: TableSize): number }>>

type TableSize = { rows: number; bytes: number }

/**
 * What starting this version would do to the store. Throws, as the start would, if the store can't be used because it
 * is older than the first release, too new for this version, or damaged.
 */
export async function checkUpgrade(store: ReadOnlyStore, migrations: readonly Migration[]): Promise<UpgradeCheck> {
  if (await store.hasTable('schema_version')) throw new Error(UNRELEASED)
  const done = await readDone(store)
  const names = done.map(({ name }) => name)
  if (isUnreleased(names)) throw new Error(UNRELEASED)
  const known = new Set(migrations.map(({ name }) => name))
  const strangers = done.filter(({ name }) => !known.has(name))
  const breaker = strangers.find(({ breaks }) => breaks)
  if (breaker) throw new Error(newerText(breaker.name))

  const ahead = migrations.filter(({ name }) => !names.includes(name))
  const serving = await store.serving()
  const isNew = names.length === 0
  const planned: PlannedMigration[] = []
  for (const migration of isNew ? [] : ahead) planned.push(await plan(store, migration))
  return {
    engine: store.engineText,
    schema: {
      current: names.at(-1) ?? null,
      wanted: migrations.at(-1)?.name ?? firstRelease.name,
      supported_from: firstRelease.name,
    },
    status: isNew ? 'new' : await statusOf(store, ahead, serving),
    migrations: planned,
    unknown: strangers.map(({ name }) => name),
    serving,
    needed_bytes: planned.reduce((sum, { bytes }) => sum + bytes, 0),
    free_bytes: store.freeBytes,
  }
}

async function readDone(store: ReadOnlyStore): Promise<{ name: string; breaks: boolean }[]> {
  if (!(await store.hasTable('migrations'))) {
    // These two tables were always created together with it.
    const isOurs = (await store.hasTable('audit_chain')) && (await store.hasTable('agents'))
    if (isOurs) throw new Error('the database is damaged: the table `migrations` is missing. Restore a backup')
    return []
  }
  const rows = await store.rows('select name, breaks from migrations order by migrated_at, name')
  return rows.map(({ name, breaks }) => ({ name: String(name), breaks: Number(breaks) === 1 }))
}

async function statusOf(store: ReadOnlyStore, ahead: readonly Migration[], serving: readonly ServingNode[]) {
  if (ahead.length === 0) return 'current'
  const breaks = breaking(ahead)
  if (breaks.length === 0 || serving.length === 0) return 'ready'
  const [setting] = await store.rows(`select value from settings where name = '${CONSENT}'`)
  const isAgreed = store.engine === 'postgres' && isAllowed(breaks, setting && String(setting['value']))
  return isAgreed ? 'ready' : 'waiting'
}

async function plan(store: ReadOnlyStore, { name, breaks, touches = {} }: Migration): Promise<PlannedMigration> {
  const planned: PlannedMigration = {
    name,
    breaks: breaks === true,
    tables: Object.keys(touches),
    rows: 0,
    bytes: 0,
    seconds: 0,
  }
  for (const [table, work] of Object.entries(touches)) {
    // An earlier migration of this plan may create the table.
    if (!(await store.hasTable(table))) continue
    const measured = await store.measure(table)
    const { rowsPerSecond, bytesOf } = COSTS[store.engine][work]
    planned.rows += measured.rows
    planned.bytes += bytesOf(measured)
    planned.seconds += measured.rows / rowsPerSecond
  }
  return { ...planned, bytes: Math.round(planned.bytes), seconds: Math.ceil(planned.seconds) }
}
