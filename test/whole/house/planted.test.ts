import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { openSources } from '../../../scripts/plant/mistakes.ts'
import { childEnv } from '../../support/service/child.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

test('npm run plant lists the mistakes that tests catch and those that survive', async () => {
  const sources = openSources(ROOT)
  const [tested, checked] = ['operator', 'comparison'].map(
    (kind) => sources.mistakesIn('src/lib/duration.ts').find((mistake) => mistake.kind === kind)?.id ?? kind,
  )
  const [elsewhere] = sources.mistakesIn('src/budgets/desk/refusal.ts')
  sources.close()
  const mistakes = [tested, checked, elsewhere?.id].flatMap((id) => ['--mistake', String(id)])

  const program = [join(ROOT, 'scripts/plant.ts'), '--jobs', '1', '--tests', 'house/lib.test', ...mistakes]
  const { stdout } = await promisify(execFile)(process.execPath, program, { cwd: ROOT, env: childEnv() })
  const caught = stdout.match(/caught by test\/house\/lib\.test\.ts: parseDuration/g)
  assert.equal(caught?.length, 2, stdout)
  assert.match(stdout, /SURVIVED: no test executes it/, stdout)
  assert.match(stdout, /2 of 3 mistakes were caught\./, stdout)
  assert.ok(stdout.endsWith(`npm run plant -- --mistake ${elsewhere?.id}\n`), stdout)
})
