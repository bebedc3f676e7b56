import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Overrides } from '../../src/build-parts.ts'
import { type Engine, type Service, type Settings, startService } from '../support/service/service.ts'
import { type Migrate, testPostgres } from '../support/stores/postgres.ts'
import { storeFolder } from '../support/stores/store-folder.ts'
import type { Answer } from './answers.ts'
import type { Kept } from './fill-store.ts'
import { loadPostgres } from './postgres-dump.ts'

/** The releases of which a store is kept here. A release adds its own. */
export const RELEASES = ['0.1.0']

/** Keys that open nothing but the fixtures. */
export const FIXTURE_KEYS = {
  MOORAGE_INIT_KEY: 'mrg_14Zevg3YyCKZdTjZoE2lNuUvTH81XbsMYXWa4aDzMKR2NFxBE',
  MOORAGE_MASTER_KEY: '3ib/QewnSvHgFOSDJSof8QgciIvy1Y1CJAtvB/tif2E=',
}

/** What is known of a store besides its rows. */
export type Told = {
  /** The time on the clock of the service, which stood still while it was asked. */
  now: number
  settings: Settings
  kept: Kept
  answers: Answer[]
}

/** A SQLite database is kept as its file and a folder with the bytes of files, a PostgreSQL database as plain SQL. */
const STORES = { sqlite: 'moorage.db.gz', postgres: 'moorage.sql.gz' } as const
const FILES = 'files'
const TOLD = 'told.json.gz'

function folderOf(release: string, engine: Engine): string {
  return join(import.meta.dirname, release, engine)
}

/** `files` is the folder in which a SQLite store keeps its bytes. */
export async function writeFixture(
  { release, engine }: { release: string; engine: Engine },
  { store, files, told }: { store: Buffer; files: string | undefined; told: Told },
): Promise<void> {
  const folder = folderOf(release, engine)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, STORES[engine]), gzipSync(store, { level: 9 }))
  await writeFile(join(folder, TOLD), gzipSync(JSON.stringify(told, null, 1), { level: 9 }))
  if (files) await cp(files, join(folder, FILES), { recursive: true })
}

/** Loading a store's SQL takes a second, so all tests but the first get a copy of the database. */
const loads = new Map<string, Migrate>()

function loadOf(path: string): Migrate {
  const load = loads.get(path) ?? (async (url) => loadPostgres(url, gunzipSync(await readFile(path)).toString()))
  loads.set(path, load)
  return load
}

async function readTold(release: string, engine: Engine): Promise<Told> {
  return JSON.parse(gunzipSync(await readFile(join(folderOf(release, engine), TOLD))).toString())
}

/** A store of a release in a place of its own, for a test to open. */
export type PlacedStore = {
  told: Told
  /** A folder for SQLite, or the address of the database. */
  settings: Settings
  /** A service on it, whose clock shows what the clock of the fixture did, and only moves by `advance`. */
  start(settings?: Settings, overrides?: Overrides): Promise<Service>
  remove(): Promise<void>
}

export async function placeFixture(release: string, engine: Engine): Promise<PlacedStore> {
  const folder = folderOf(release, engine)
  const told = await readTold(release, engine)
  const home = await storeFolder('upgrade')
  const kept = join(folder, STORES[engine])
  const database = engine === 'postgres' ? await testPostgres(loadOf(kept)) : undefined
  const data = join(home, 'data')
  await mkdir(data, { mode: 0o700 })
  if (!database) {
    await writeFile(join(data, 'moorage.db'), gunzipSync(await readFile(kept)), { mode: 0o600 })
    if (existsSync(join(folder, FILES))) await cp(join(folder, FILES), join(data, FILES), { recursive: true })
  }
  const place = { MOORAGE_DATA: data, ...(database && { DATABASE_URL: database.url }) }
  return {
    told,
    settings: { ...told.settings, ...place },
    start(settings = {}, overrides = {}) {
      return startService(engine, { ...told.settings, ...place, ...settings }, {}, overrides, told.now)
    },
    async remove() {
      await database?.drop()
      await rm(home, { recursive: true, force: true })
    },
  }
}
