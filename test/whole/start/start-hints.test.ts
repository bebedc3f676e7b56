import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { newShell } from '../../support/clients/cli.ts'
import { built } from '../../support/service/built.ts'
import { childEnv, startChild } from '../../support/service/child.ts'
import { startChildService } from '../../support/service/child-service.ts'

const MAIN = built('main')

/** A service whose data are not in its own folder. */
async function startElsewhere(t: TestContext) {
  const data = await mkdtemp(join(tmpdir(), 'moorage-elsewhere-'))
  t.after(() => rm(data, { recursive: true, force: true }))
  return startChildService(t, 'sqlite', { MOORAGE_DATA: data })
}

describe('the output of a start contains', () => {
  test('how to use another port if this one is in use', async (t) => {
    const service = await startChildService(t, 'sqlite')
    const { port } = new URL(service.url())
    const home = dirname(service.data)
    const env = { ...childEnv(), MOORAGE_DATA: join(home, 'other'), PORT: port, LOG_LEVEL: 'error' }
    const child = startChild(process.execPath, [MAIN], { cwd: home, env, stdio: ['ignore', 'ignore', 'pipe'] })
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    assert.equal(code, 1)
    assert.match(stderr, /EADDRINUSE.*\n.*To use another port, set PORT=\d+/)
  })

  test("a command that creates a new key, even if the service's URL is exported", async (t) => {
    const service = await startElsewhere(t)
    const [, command] = /Lost it\? npm run -s moorage -- (.+)/.exec(service.output()) ?? []
    assert.ok(command, service.output())
    const shell = newShell()
    t.after(() => shell.remove())
    const env = { MOORAGE_URL: service.url() }
    const { code, stdout, stderr } = await shell.moorage(command.split(' '), { env })
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^mrg_\w+\n$/)
  })

  test('a command that creates another link to this console, whatever its port and data folder', async (t) => {
    const service = await startElsewhere(t)
    const [, command] = /Open   npm run -s moorage -- (.+?)   /.exec(service.output()) ?? []
    assert.ok(command, service.output())
    const shell = newShell()
    t.after(() => shell.remove())
    const { code, stdout, stderr } = await shell.moorage(command.split(' '))
    assert.equal(code, 0, stderr)
    const link = new URL(stdout.trim())
    assert.equal(link.origin, new URL(service.url()).origin)
    const signedIn = await fetch(new URL('/console/session', link), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Moorage-Console': '1', Origin: link.origin },
      body: JSON.stringify({ link_token: link.hash.slice('#link='.length) }),
    })
    assert.equal(signedIn.status, 201, await signedIn.text())
  })

  for (const [typed, npm] of [
    ['moorage', {}],
    ['npx moorage', { npm_command: 'exec', npm_lifecycle_event: 'npx' }],
    ['npm run -s moorage --', { npm_command: 'run', npm_lifecycle_event: 'moorage' }],
  ] as const) {
    test(`commands as the user typed the one that started it: ${typed}; and the public URL`, async (t) => {
      const home = await mkdtemp(join(tmpdir(), 'moorage-public-'))
      t.after(() => rm(home, { recursive: true, force: true }))
      const url = 'https://agents.example.com/moorage'
      const settings = `server: { publicUrl: "${url}/", trustedProxies: [10.0.0.0/8] }\nsecurity: { enforceHttps: true }\n`
      await writeFile(join(home, 'moorage.yaml'), settings)
      const env = { ...childEnv(), ...npm, PORT: '0', LOG_LEVEL: 'error' }
      const child = startChild(process.execPath, [built('cli'), 'start'], { cwd: home, env })
      const [shown] = await once(child.stdout, 'data')
      child.kill()
      await once(child, 'exit')
      const banner = String(shown)
      assert.ok(banner.includes(`  URL    ${url}\n`), banner)
      assert.ok(banner.includes(`  Open   ${typed} open --local --url ${url}   `), banner)
      assert.ok(banner.includes(`  curl ${url}/v1/agents/hello/invoke `), banner)

      const shell = newShell()
      t.after(() => shell.remove())
      const opened = await shell.moorage([
        'open',
        '--local',
        '--config',
        join(home, 'moorage.yaml'),
        '--data',
        join(home, 'data'),
      ])
      assert.equal(opened.code, 0, opened.stderr)
      assert.ok(opened.stdout.startsWith(`${url}/#link=`), opened.stdout)
    })
  }
})
