import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../../support/running/until.ts'
import { childEnv, startChild } from '../../support/service/child.ts'

/** Makes a process say which packages it loads. */
const TELLING = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    load(url, context, next) {
      const name = /node_modules\\/((?:@[^/]+\\/)?[^/.][^/]*)/.exec(url)?.[1]
      if (name) console.error('package ' + name)
      return next(url, context)
    },
  })
`)}`

/** Runs a program from its sources until it has said something. Returns the packages that it loaded, which in the built program are partly inside. */
async function packagesOf(args: string[], said: RegExp): Promise<string[]> {
  const home = mkdtempSync(join(tmpdir(), 'moorage-lean-'))
  const env = { ...childEnv(), HOME: home, MOORAGE_DATA: join(home, 'data'), PORT: '0', LOG_LEVEL: 'error' }
  const root = join(import.meta.dirname, '../../..')
  const child = startChild(process.execPath, ['--import', TELLING, ...args], { cwd: root, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk
    })
  }
  const closed = new Promise((resolve) => child.once('close', resolve))
  try {
    await until(`${args.join(' ')} to say ${said}`, () => said.test(output), 30_000)
  } finally {
    child.kill('SIGKILL')
    await closed
    rmSync(home, { recursive: true, force: true })
  }
  return [...new Set(output.matchAll(/^package (\S+)$/gm).map(([, name]) => name as string))].toSorted()
}

// Each package costs the start milliseconds and stays in memory. Load it with `lazily` if most services never need it.
test('a service that starts with defaults loads only the packages that every service needs', async () => {
  assert.deepEqual(await packagesOf(['src/main.ts'], /Try it:/), ['ipaddr.js', 'kysely', 'lru-cache', 'otpauth', 'zod'])
})

for (const command of ['--help', 'whoami']) {
  test(`moorage ${command} loads nothing of the service`, async () => {
    assert.deepEqual(await packagesOf(['src/cli/main.ts', command], /Usage:|moorage login/), ['commander'])
  })
}
