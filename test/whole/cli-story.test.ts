import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { codeAt, stepAt } from '../../src/security/one-time-code.ts'
import { type Answer, inScript, inTerminal, ROOT, startHere, type Way } from '../support/clients/terminal.ts'
import { childEnv, startChild } from '../support/service/child.ts'

const WAYS: [string, Way, boolean][] = [
  ['in a terminal', inTerminal, true],
  ['in a script', inScript, false],
]

for (const [where, way, isTerminal] of WAYS) {
  describe(`from an empty folder with the command line alone, ${where}`, () => {
    let folder: string
    let service: Awaited<ReturnType<typeof startHere>>
    let env: Record<string, string>
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), 'moorage-story-'))
      env = {
        ...childEnv(),
        HOME: join(folder, 'home'),
        LOG_LEVEL: 'warn',
      }
      service = await startHere(folder, env)
    })
    after(async () => {
      await service.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    const moorage = async (args: string[], options: { answers?: Answer[]; stdin?: string; exit?: number } = {}) => {
      const told = await way(args, { cwd: folder, env, ...options })
      assert.equal(told.code, options.exit ?? 0, `${args.join(' ')}\n${told.stdout}${told.stderr}`)
      return told
    }
    const secretIn = (text: string) => /mrg_\w{49}/.exec(text)?.[0] ?? ''

    test('a key on the store itself, and a login with it', async () => {
      const created = await moorage(['keys', 'create', 'me', '--role', 'admin', '--tier', 'enterprise'])
      const secret = secretIn(created.stdout)
      if (!isTerminal) assert.equal(created.stdout, `${secret}\n`)
      assert.match(created.stderr, /Using the local data directly/)

      const answers = [{ when: /API key/, send: `${secret}\r` }]
      const { stdout, stderr } = await moorage(['login', service.url], { answers, stdin: `${secret}\n` })
      assert.match(stderr, /Logged in to http:\/\/127\.0\.0\.1:\d+ as me/)
      assert.ok(!`${stdout}${stderr}`.includes(secret))
      assert.match((await moorage(['whoami'])).stdout, /read, write, delete, manage/)
    })

    // In a script it is the same as without a process for each command: see test/cli.
    if (isTerminal) {
      test('an agent: v1, v2, and back', async () => {
        await moorage(['init', 'greeter'])
        assert.match((await moorage(['deploy', 'v1'])).stderr, /production serves v1 of greeter/)
        assert.match((await moorage(['invoke', 'greeter', 'hello'])).stdout, /Hello! You said "hello"\./)

        const file = join(folder, 'agent.yaml')
        writeFileSync(file, readFileSync(file, 'utf8').replace('You said', 'I heard'))
        assert.match((await moorage(['deploy', 'v2'])).stderr, /production serves v2 of greeter/)
        assert.match((await moorage(['invoke', 'greeter', 'hello'])).stdout, /Hello! I heard "hello"\./)

        assert.match((await moorage(['rollback', 'greeter'])).stderr, /production serves v1 again/)
        assert.match((await moorage(['invoke', 'greeter', 'hello'])).stdout, /Hello! You said "hello"\./)
      })

      test('its logs until Ctrl-C', async () => {
        await moorage(['logs', 'greeter', '-f'], {
          answers: [{ when: /Invocation completed/, send: '\x03' }],
          exit: 130,
        })
      })
    }

    test('another key: rotated, and revoked after a question', async () => {
      const first = secretIn((await moorage(['keys', 'create', 'ci', '--role', 'developer'])).stdout)
      const id = /key_\w{26}/.exec((await moorage(['keys', 'list', '--limit', '1'])).stdout)?.[0] ?? ''
      const second = secretIn((await moorage(['keys', 'rotate', id, '--grace', '0'])).stdout)
      const status = async (key: string) => {
        const response = await fetch(`${service.url}/v1/keys/self`, { headers: { Authorization: `Bearer ${key}` } })
        await response.text()
        return response.status
      }
      assert.deepEqual([await status(first), await status(second)], [401, 200])

      if (isTerminal) {
        await moorage(['keys', 'revoke', id], { answers: [{ when: /Revoke key_/, send: 'n' }], exit: 5 })
        assert.equal(await status(second), 200)
        await moorage(['keys', 'revoke', id], { answers: [{ when: /Revoke key_/, send: 'y' }] })
      } else {
        await moorage(['keys', 'revoke', id], { exit: 2 })
        await moorage(['keys', 'revoke', id, '--yes'])
      }
      assert.equal(await status(second), 401)
    })

    test('a second factor: given on the host, asked for where it is needed', async () => {
      const { id } = JSON.parse((await inScript(['whoami', '--json'], { cwd: folder, env })).stdout)
      const enrolled = await inScript(['mfa', 'enrol', id, '--local', '--json'], { cwd: folder, env })
      const { secret } = JSON.parse(enrolled.stdout)
      // Now, then one step ahead: both still count if half a minute ends while a command starts.
      const code = (offset: number) => codeAt({ secret, step: stepAt(Date.now()) + offset })
      assert.equal((await inScript(['mfa', 'confirm', id, code(0), '--local'], { cwd: folder, env })).code, 0)
      writeFileSync(
        join(folder, 'guarded.yaml'),
        'name: guarded\nsecurity: { mfa: { enabled: true, requiredFor: [delete] } }\n',
      )
      await moorage(['deploy', '--file', 'guarded.yaml'])
      if (isTerminal) {
        const answers = [{ when: /One-time code/, send: `${code(1)}\r` }]
        await moorage(['agents', 'delete', 'guarded', '--yes'], { answers })
      } else {
        assert.match((await moorage(['agents', 'delete', 'guarded', '--yes'], { exit: 4 })).stderr, /--otp/)
        await moorage(['agents', 'delete', 'guarded', '--yes', '--otp', code(1)])
      }
      await moorage(['agents', 'get', 'guarded'], { exit: 3 })
    })

    test('no colours but for people', async () => {
      const { stdout } = await way(['keys', 'list'], { cwd: folder, env, raw: true })
      assert.equal(stdout.includes('\u001b['), isTerminal)
      const plain = await way(['keys', 'list'], { cwd: folder, env: { ...env, NO_COLOR: '1' }, raw: true })
      assert.ok(!plain.stdout.includes('\u001b['))
    })

    test('the service ends well', async () => {
      assert.equal(await service.stop(), 0)
      assert.match((await moorage(['whoami'], { exit: 7 })).stderr, /Cannot reach/)
    })
  })
}

describe('moorage --help', () => {
  test('loads the command line but nothing of the service, so that it is fast', async () => {
    // Its time is not measured: it depends on what else the machine does.
    const tell =
      'import{registerHooks}from"node:module";registerHooks({load(url,context,next){process.stderr.write(`${url}\\n`);return next(url,context)}})'
    const args = ['--import', `data:text/javascript,${tell}`, `${ROOT}src/cli/main.ts`, '--help']
    const child = startChild(process.execPath, args, { env: { ...childEnv() }, stdio: ['ignore', 'ignore', 'pipe'] })
    const loaded = (await readAll(child.stderr)).trim().split('\n')
    const foreign = loaded.filter((url) => !/^node:|\/(src\/(cli|lib)|sdk|node_modules\/commander)\//.test(url))
    assert.deepEqual(foreign, [])
    assert.ok(loaded.length > 10 && loaded.length < 40, loaded.join('\n'))
  })
})
