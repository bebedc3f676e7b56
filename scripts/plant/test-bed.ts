// A copy of the checkout in which files can be changed and tests run, with a PostgreSQL of its own.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Client } from 'pg'
import { chromiumPath } from '../../test/support/console/chromium.ts'
import { testEnv } from '../../test/support/running/test-env.ts'
import { startPostgres } from '../../test/support/stores/postgres.ts'
import { runFolder } from '../../test/support/stores/store-folder.ts'

export type TestBed = {
  /** The copy. */
  root: string
  env: NodeJS.ProcessEnv
  folder: string
  read(file: string): string
  write(file: string, text: string): void
  /** Builds the service and the command line that tests start as processes, if a source has changed. */
  build(): Promise<void>
  /** Removes files and databases of tests that were stopped. */
  clear(): Promise<void>
  close(): Promise<void>
}

export async function openTestBed(original: string): Promise<TestBed> {
  const folder = runFolder()
  const root = join(folder, 'checkout')
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const files = execFileSync('git', listed, { cwd: original, encoding: 'utf8' }).split('\0').filter(Boolean)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const file of files) {
    if (!existsSync(join(original, file))) continue
    mkdirSync(dirname(join(root, file)), { recursive: true })
    cpSync(join(original, file), join(root, file))
  }
  symlinkSync(join(original, 'node_modules'), join(root, 'node_modules'))

  const { buildServiceIfStale } = await import(join(original, 'scripts/service-build.mjs'))
  process.env['MOORAGE_TEST_FOLDER'] = folder
  const postgres = await startPostgres()
  const stores = mkdtempSync(join(folder, 'stores-'))
  const env = {
    ...testEnv({ postgres: postgres.url, redis: process.env['MOORAGE_TEST_REDIS'], chromium: chromiumPath() }),
    // The compile cache is removed with the copy, because it contains files with mistakes.
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    MOORAGE_TEST_FOLDER: stores,
  }
  return {
    root,
    env,
    folder,
    read: (file) => readFileSync(join(root, file), 'utf8'),
    write: (file, text) => writeFileSync(join(root, file), text),
    build: () => buildServiceIfStale(root),
    async clear() {
      rmSync(stores, { recursive: true, force: true })
      mkdirSync(stores, { mode: 0o755 })
      await dropDatabases(postgres.url)
    },
    async close() {
      await postgres.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function dropDatabases(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query("select datname from pg_database where datname like 'moorage_test_%'")
    for (const { datname } of rows) await client.query(`drop database if exists ${datname} with (force)`)
  } finally {
    await client.end()
  }
}
