// npm run fixtures: writes the stores of this version into test/upgrade, which every later version must open. It runs once
// for a release. Afterwards the folder of that release is never written again.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import project from '../package.json' with { type: 'json' }
import { startPostgres } from '../test/support/stores/postgres.ts'
import { runFolder } from '../test/support/stores/store-folder.ts'

const { version } = project
const isForced = process.argv.includes('--again')
if (existsSync(join(import.meta.dirname, '../test/upgrade', version)) && !isForced) {
  console.error(`test/upgrade/${version} already exists. If ${version} is not released yet, use --again to replace it.`)
  process.exit(1)
}
const folder = runFolder()
process.env.MOORAGE_TEST_FOLDER = folder
const postgres = await startPostgres()
process.env.MOORAGE_TEST_POSTGRES = postgres.url
try {
  const { makeFixture } = await import('../test/upgrade/make-fixture.ts')
  for (const engine of ['sqlite', 'postgres']) console.log(await makeFixture(version, engine))
} finally {
  await postgres.close()
  rmSync(folder, { recursive: true, force: true })
}
// The databases of the tests would otherwise be dropped now, on the server that is gone.
process.exit()
