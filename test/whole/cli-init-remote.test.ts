import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { childEnv, startChild } from '../support/service/child.ts'
import { type Service, startService } from '../support/service/service.ts'

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=\n$/

describe('moorage init --remote', () => {
  let service: Service
  let shell: Shell
  before(async () => {
    service = await startService('sqlite', LOCAL_TOOLS)
    shell = newShell(service)
  })
  after(async () => {
    shell.remove()
    await service.stop()
  })

  function folderOf(name: string) {
    const cwd = join(shell.folder, name)
    mkdirSync(cwd)
    return {
      cwd,
      read: (file: string) => readFileSync(join(cwd, file), 'utf8'),
      run: (args: string[], options: { stdin?: string; env?: Record<string, string> } = {}) =>
        shell.moorage(args, { cwd, ...options }),
    }
  }

  test('writes an agent that keeps the contract, and says the commands that put it behind the service', async () => {
    const { cwd, read, run } = folderOf('harbour-master')
    const made = await run(['init', '--remote'])
    assert.equal(made.code, 0, made.stderr)
    assert.match(made.stdout, SECRET)
    const secret = made.stdout.trim()
    assert.equal(
      made.stderr,
      `✔ Wrote agent.yaml and agent.ts for the agent harbour-master
  This secret signs its calls and is shown once. Keep it as AGENT_SECRET, then, with moorage-sdk installed:
    node agent.ts   # before Node 24.12: npx tsx agent.ts
    echo "$AGENT_SECRET" | moorage secrets set REMOTE_HARBOUR_MASTER --hosts 127.0.0.1
    moorage deploy v1
`,
    )
    assert.ok(read('agent.ts').split('\n').length <= 40)
    for (const file of ['agent.yaml', 'agent.ts']) assert.ok(!read(file).includes(secret.slice(6)), file)
    assert.match(read('agent.yaml'), /^# yaml-language-server: \$schema=\.moorage\/agent\.schema\.json\nname: harbour/)

    installSdk(cwd)
    const env = { ...childEnv(), AGENT_SECRET: secret, PORT: '0' }
    const agent = startChild(process.execPath, ['agent.ts'], { cwd, env, stdio: ['ignore', 'pipe', 'ignore'] })
    try {
      const [told] = await once(agent.stdout, 'data')
      const url = `http://127.0.0.1:${/port: (\d+)/.exec(String(told))?.[1] ?? assert.fail(String(told))}`
      const checked = await run(['remote', 'check', url], { env: { AGENT_SECRET: secret } })
      assert.equal(checked.code, 0, checked.stdout + checked.stderr)
      assert.match(checked.stdout, /^(ok .*\n){7}$/)

      const set = await run(['secrets', 'set', 'REMOTE_HARBOUR_MASTER', '--hosts', '127.0.0.1'], { stdin: secret })
      assert.equal(set.code, 0, set.stderr)
      writeFileSync(join(cwd, 'agent.yaml'), read('agent.yaml').replace('http://127.0.0.1:4000', url))
      const deployed = await run(['deploy', 'v1'])
      assert.equal(deployed.code, 0, deployed.stderr)
      const answered = await run(['invoke', 'harbour-master', 'Ahoy'])
      assert.equal(answered.stdout, 'I am harbour-master. You said: Ahoy\n', answered.stderr)
    } finally {
      const gone = once(agent, 'exit')
      agent.kill()
      await gone
    }
  })

  test('the server does not start without its secret', async () => {
    const { cwd, run } = folderOf('no-secret')
    await run(['init', '--remote'])
    installSdk(cwd)
    const agent = startChild(process.execPath, ['agent.ts'], {
      cwd,
      env: childEnv(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let said = ''
    agent.stderr.on('data', (piece) => (said += piece))
    const [code] = await once(agent, 'close')
    assert.equal(code, 1)
    assert.match(said, /Set AGENT_SECRET to the secret/)
  })

  test('--json has all of it; the file names the server; a file that is there is not replaced', async () => {
    const { cwd, read, run } = folderOf('files')
    writeFileSync(join(cwd, 'pilot.ts'), 'mine')
    const refused = await run(['init', '9-pilots', '--remote', '--file', 'pilot.yaml'])
    assert.equal(refused.code, 1)
    assert.equal(refused.stdout, '')
    assert.match(refused.stderr, /pilot\.ts already exists/)
    assert.equal(read('pilot.ts'), 'mine')
    assert.ok(!existsSync(join(cwd, 'pilot.yaml')))

    const forced = await run(['init', '9-pilots', '--remote', '--file', 'pilot.yaml', '--force', '--json'])
    assert.equal(forced.code, 0, forced.stderr)
    const { secret, ...rest } = JSON.parse(forced.stdout)
    assert.match(`${secret}\n`, SECRET)
    assert.deepEqual(rest, {
      name: '9-pilots',
      file: 'pilot.yaml',
      server: 'pilot.ts',
      secret_name: 'REMOTE_9_PILOTS',
    })
    assert.ok(!forced.stderr.includes(secret))
    assert.match(forced.stderr, /moorage deploy v1 --file pilot\.yaml/)
    assert.match(read('pilot.ts'), /serveAgent/)
    assert.match(read('pilot.yaml'), /^ {2}secret: REMOTE_9_PILOTS$/m)
    const preview = await run(['diff', '--file', 'pilot.yaml'])
    assert.equal(preview.code, 0, preview.stderr)
  })
})

/** What `npm install` would do with the package; test/whole/sdk-pack.test.ts makes it. */
function installSdk(folder: string): void {
  const sdk = join(folder, 'node_modules/moorage-sdk')
  mkdirSync(sdk, { recursive: true })
  writeFileSync(join(sdk, 'package.json'), '{ "type": "module", "exports": "./sdk/client.ts" }')
  symlinkSync(fileURLToPath(new URL('../../sdk', import.meta.url)), join(sdk, 'sdk'))
}
