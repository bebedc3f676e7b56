import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { shellOfAdmin, shellOfNobody } from '../support/clients/cli.ts'
import { ConsoleTab } from '../support/console/console-tab.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { built } from '../support/service/built.ts'

describe('moorage and its exit codes', () => {
  const { service, shell } = shellOfAdmin()

  test('0 ok, 2 usage or 400, 3 not found, 4 auth', async () => {
    const codeOf = async (args: string[], env = {}) => (await shell().moorage(args, { env })).code
    assert.equal(await codeOf(['--help']), 0)
    assert.equal(await codeOf(['agents', 'list', '--help']), 0)
    assert.equal(await codeOf(['nonsense']), 2)
    assert.equal(await codeOf(['agents', 'list', '--nonsense']), 2)
    assert.equal(await codeOf(['agents', 'create', 'Bad Name']), 2)
    assert.equal(await codeOf(['agents', 'get', 'nobody']), 3)
    assert.equal(await codeOf(['agents', 'list'], { MOORAGE_API_KEY: 'mrg_wrong' }), 4)
    assert.equal(await codeOf(['agents', 'create', 'hello']), 1)
  })

  test('6 rate limited, 7 unreachable', async () => {
    const server = await startLocalServer((_request, response) =>
      response.writeHead(429, { 'retry-after': '999' }).end(),
    )
    const limited = await shell().moorage(['agents', 'list'], { env: { MOORAGE_URL: server.url } })
    assert.equal(limited.code, 6)
    await server.close()
    const gone = await shell().moorage(['agents', 'list'], { env: { MOORAGE_URL: server.url } })
    assert.equal(gone.code, 7)
    assert.match(gone.stderr, /Cannot reach .*ECONNREFUSED/)
  })

  test('did you mean', async () => {
    assert.match((await shell().moorage(['agnets'])).stderr, /Did you mean agents\?/)
    assert.match((await shell().moorage(['keys', 'creat'])).stderr, /Did you mean create\?/)
    assert.match((await shell().moorage(['agents', 'list', '--jsno'])).stderr, /Did you mean --json\?/)
  })

  test('a step of metrics that the service lacks is refused before any request, and completion offers the others', async () => {
    const { code, stderr } = await shell().moorage(['metrics', 'hello', '--granularity', '2m'], {
      env: { MOORAGE_URL: 'http://127.0.0.1:1' },
    })
    assert.equal(code, 2, stderr)
    assert.match(stderr, /Allowed choices are 1m, 5m, 1h, 1d\./)
    const offered = await shell().moorage(['__complete', 'metrics', 'hello', '--granularity', ''])
    assert.deepEqual(offered.stdout.split('\n').filter(Boolean), ['1m', '5m', '1h', '1d'])
  })

  test('did you mean this agent', async () => {
    for (const args of [
      ['invoke', 'helo', 'hi'],
      ['agents', 'get', 'helo'],
      ['logs', 'Hello'],
      ['chat', 'helllo'],
      ['deployments', 'list', 'hell'],
    ]) {
      const { code, stderr } = await shell().moorage(args)
      assert.equal(code, 3, stderr)
      assert.match(stderr, /Agent ".*" not found\.\n {2}Did you mean hello\?\n {2}request req_/, args.join(' '))
    }
    const { stderr } = await shell().moorage(['agents', 'get', 'helo', '--json'])
    const { error, request_id } = JSON.parse(stderr)
    assert.deepEqual(error, { code: 'not_found', message: 'Agent "helo" not found.', hint: 'Did you mean hello?' })
    assert.match(request_id, /^req_/)
  })

  test('no suggestion where nothing is similar, and none without the permission to list agents', async () => {
    assert.doesNotMatch((await shell().moorage(['agents', 'get', 'quite-another'])).stderr, /Did you mean/)
    const agents = await Promise.all(
      ['allowed', 'allowes'].map((name) => service().call('POST', '/v1/agents', { body: { name } })),
    )
    const agent_id = agents[0]?.body.data.id
    const { body } = await service().call('POST', '/v1/keys', { body: { name: 'one', role: 'developer', agent_id } })
    const env = { MOORAGE_API_KEY: body.data.secret }
    const { stderr } = await shell().moorage(['agents', 'get', 'allowex'], { env })
    assert.doesNotMatch(stderr, /allowes\?/)
  })

  test('completion: commands, commands of commands, options', async () => {
    const complete = async (...words: string[]) => (await shell().moorage(['__complete', ...words])).stdout.split('\n')
    assert.deepEqual(await complete('ke'), ['keys', ''])
    assert.ok((await complete('keys', '')).includes('rotate'))
    assert.deepEqual(await complete('keys', 'create', '--ro'), ['--role', ''])
    assert.deepEqual(await complete('keys', 'list', '--status', 'e'), ['expired', ''])
    assert.deepEqual(await complete('keys', '""'), await complete('keys', ''), 'an empty word as PowerShell passes it')
    for (const name of ['bash', 'zsh', 'fish', 'powershell']) {
      assert.match((await shell().moorage(['completion', name])).stdout, /moorage __complete/)
    }
    assert.equal((await shell().moorage(['completion', 'tcsh'])).code, 2)
  })

  test('the script for bash completes', async () => {
    const { stdout: script } = await shell().moorage(['completion', 'bash'])
    const { stdout } = await promisify(execFile)('bash', [
      '-c',
      `moorage() { '${process.execPath}' '${built('cli')}' "$@"; }\n${script}
       COMP_WORDS=(moorage keys ro) COMP_CWORD=2; _moorage; echo "\${COMPREPLY[@]}"`,
    ])
    assert.equal(stdout, 'rotate\n')
  })

  test('open prints a link that signs in once, or the address of the reference', async () => {
    const { stdout } = await shell().moorage(['open'])
    assert.match(stdout, /\/#link=[\w-]{43}\n$/)
    assert.ok(stdout.startsWith(service().url))
    const link_token = stdout.trim().split('#link=')[1]
    const tab = new ConsoleTab(service)
    assert.equal((await tab.ask('POST', '/console/session', { body: { link_token } })).status, 201)
    assert.equal((await shell().moorage(['open', '--docs'])).stdout, `${service().url}/docs\n`)
  })
})

describe('moorage login', () => {
  const { service, shell } = shellOfNobody()

  test('stores url and key in a file that only its owner can read, and never prints the key', async () => {
    const { code, stdout, stderr } = await shell().moorage(['login', service().url], { stdin: `${service().admin}\n` })
    assert.equal(code, 0, stderr)
    const file = join(shell().folder, 'home/.config/moorage/config.json')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const shown = [
      stdout,
      stderr,
      ...(await Promise.all([shell().moorage(['whoami']), shell().moorage(['profile'])])).map(
        (result) => result.stdout + result.stderr,
      ),
    ].join()
    assert.ok(!shown.includes(service().admin), shown)
    assert.ok(shown.includes(service().url))
    assert.equal((await shell().moorage(['agents', 'list'])).code, 0)
  })

  test('a damaged login file is named, and its content is not printed', async () => {
    const file = join(shell().folder, 'home/.config/moorage/config.json')
    const whole = readFileSync(file, 'utf8')
    writeFileSync(file, service().admin)
    const { code, stdout, stderr } = await shell().moorage(['agents', 'list'])
    writeFileSync(file, whole)
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(stderr, `error: ${file} can't be read: SyntaxError\n  Delete it and log in again\n`)
  })

  test('a key that does not work is not stored', async () => {
    const { code } = await shell().moorage(['login', service().url, '--profile', 'bad'], { stdin: 'mrg_wrong\n' })
    assert.equal(code, 4)
    assert.ok(!(await shell().moorage(['profile'])).stdout.includes('bad'))
  })

  test("a profile's key is sent only to the profile's own service", async () => {
    const keys: unknown[] = []
    const other = await startLocalServer((request, response) => {
      keys.push(request.headers.authorization)
      response.end('{}')
    })
    const { code, stderr } = await shell().moorage(['agents', 'list', '--url', other.url])
    assert.equal(code, 4)
    assert.match(stderr, /No key for/)
    assert.deepEqual(keys, [])
    await other.close()
  })

  test('there can be several logins, one of them current; logout removes one', async () => {
    await shell().moorage(['login', service().url, '--profile', 'second'], { stdin: service().admin })
    assert.match((await shell().moorage(['profile'])).stdout, /\* +second/)
    assert.equal((await shell().moorage(['profile', 'use', 'default'])).code, 0)
    assert.match((await shell().moorage(['whoami'])).stdout, /from +profile default/)
    assert.match((await shell().moorage(['whoami', '--profile', 'second'])).stdout, /from +profile second/)
    assert.equal((await shell().moorage(['profile', 'use', 'third'])).code, 3)
    assert.match((await shell().moorage(['profile', 'use', 'secnod'])).stderr, /Did you mean second\?/)
    assert.match((await shell().moorage(['whoami', '--profile', 'defualt'])).stderr, /Did you mean default\?/)
    assert.equal((await shell().moorage(['logout', '--profile', 'second'])).code, 0)
    assert.equal((await shell().moorage(['whoami', '--profile', 'second'])).code, 2)
  })
})
