import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { newShell, type Shell } from './support/cli.ts'
import { startLocalServer } from './support/local-server.ts'
import { type Service, startService } from './support/service.ts'
import { until } from './support/until.ts'

describe('moorage, from an empty folder', () => {
  let service: Service
  let shell: Shell
  before(async () => {
    service = await startService('sqlite')
    shell = newShell(service)
  })
  after(async () => {
    shell.remove()
    await service.stop()
  })
  const ok = async (...args: string[]) => {
    const { code, stdout, stderr } = await shell.moorage(args)
    assert.equal(code, 0, `${args.join(' ')}\n${stdout}${stderr}`)
    return { stdout, stderr }
  }
  const change = (from: string, to: string) => {
    const file = join(shell.folder, 'agent.yaml')
    const text = readFileSync(file, 'utf8')
    assert.ok(text.includes(from))
    writeFileSync(file, text.replace(from, to))
  }

  test('an agent as a file: init, deploy, invoke, change, deploy, roll back', async () => {
    assert.equal((await ok('init', 'greeter')).stdout, 'agent.yaml\n')
    assert.match(
      readFileSync(join(shell.folder, 'agent.yaml'), 'utf8'),
      /^# yaml-language-server: \$schema=\.moorage\//,
    )
    assert.ok(existsSync(join(shell.folder, '.moorage/agent.schema.json')))
    assert.equal((await shell.moorage(['init', 'greeter'])).code, 1)

    assert.match((await ok('deploy', 'v1')).stderr, /Created greeter[\s\S]*production serves v1 of greeter/)
    assert.equal((await ok('invoke', 'greeter', 'hello', 'you')).stdout, 'Hello! You said "hello you".\n')

    change('Hello! You said', 'Welcome! You said')
    assert.match((await ok('deploy', 'v2', '-m', 'friendlier')).stderr, /Updated greeter: script[\s\S]*serves v2/)
    assert.equal((await ok('invoke', 'greeter', 'hello')).stdout, 'Welcome! You said "hello".\n')

    const preview = await ok('rollback', 'greeter', '--dry-run', '--json')
    assert.deepEqual(JSON.parse(preview.stdout).to.version, 'v1')
    assert.equal((await ok('invoke', 'greeter', 'hello')).stdout, 'Welcome! You said "hello".\n')
    assert.match((await ok('rollback', 'greeter')).stderr, /production serves v1 again/)
    assert.equal((await ok('invoke', 'greeter', 'hello')).stdout, 'Hello! You said "hello".\n')

    const deployments = JSON.parse((await ok('deployments', 'list', 'greeter', '--json')).stdout)
    assert.deepEqual(
      deployments.map(({ version, status }: { version: string; status: string }) => [version, status]),
      [
        ['v1', 'active'],
        ['v2', 'rolled_back'],
        ['v1', 'superseded'],
      ],
    )
  })

  test('deploying the same again changes nothing; a label that is something else is refused', async () => {
    await ok('init', 'again', '--file', 'again.yaml')
    const first = JSON.parse((await ok('deploy', '--file', 'again.yaml', '--json')).stdout)
    assert.match(first.version, /^[0-9a-f]{12}$/)
    assert.equal(JSON.parse((await ok('deploy', '--file', 'again.yaml', '--json')).stdout).id, first.id)

    await ok('deploy', 'v1', '--file', 'again.yaml')
    const file = join(shell.folder, 'again.yaml')
    writeFileSync(file, `${readFileSync(file, 'utf8')}\nmetadata: { changed: true }\n`)
    const refused = await shell.moorage(['deploy', 'v1', '--file', 'again.yaml'])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /Version v1 of again exists already and is something else/)
  })

  test('what is taken out of the file is taken out of the agent', async () => {
    const file = join(shell.folder, 'shrinking.yaml')
    writeFileSync(file, 'name: shrinking\ndescription: long\ntemperature: 1\n')
    await ok('deploy', '--file', 'shrinking.yaml')
    writeFileSync(file, 'name: shrinking\n')
    await ok('deploy', '--file', 'shrinking.yaml')
    const { description, temperature } = JSON.parse((await ok('agents', 'get', 'shrinking', '--json')).stdout)
    assert.deepEqual([description, temperature], [null, null])
  })

  test('mistakes in the file: all of them, each with its place, exit code 2', async () => {
    writeFileSync(join(shell.folder, 'bad.yaml'), 'name: Bad Name\ntemprature: 1\nlimits:\n  max_steps: many\n')
    const { code, stderr } = await shell.moorage(['deploy', '--file', 'bad.yaml'])
    assert.equal(code, 2)
    assert.match(stderr, /bad\.yaml:1:7: name: must be/)
    assert.match(stderr, /bad\.yaml:2:1: temprature: unknown field/)
    assert.match(stderr, /bad\.yaml:4:14: limits\.max_steps: /)
  })

  test('a key: the secret alone on stdout; rotate, revoke', async () => {
    const created = await ok('keys', 'create', 'ci', '--role', 'developer')
    assert.match(created.stdout, /^mrg_\w{49}\n$/)
    const [key] = JSON.parse((await ok('keys', 'list', '--json')).stdout)
    assert.equal(key.name, 'ci')
    const use = (secret: string) => shell.moorage(['whoami'], { env: { MOORAGE_API_KEY: secret.trim() } })
    assert.match((await use(created.stdout)).stdout, /permissions +read, write/)

    const rotated = await ok('keys', 'rotate', key.id, '--grace', '0')
    assert.match(rotated.stdout, /^mrg_\w{49}\n$/)
    assert.equal((await use(created.stdout)).code, 4)
    assert.equal((await use(rotated.stdout)).code, 0)

    assert.equal((await shell.moorage(['keys', 'revoke', key.id])).code, 2)
    await ok('keys', 'revoke', key.id, '--yes')
    assert.equal((await use(rotated.stdout)).code, 4)
  })

  test('logs, metrics, memory, invocations', async () => {
    await ok('agents', 'create', 'clerk')
    await ok('invoke', 'clerk', 'my dog is called Rex', '--user', 'u1', '--session', 's1')
    const [run] = JSON.parse((await ok('invocations', 'list', 'clerk', '--json')).stdout)
    assert.equal(run.message, 'my dog is called Rex')
    assert.match((await ok('invocations', 'get', 'clerk', run.request_id)).stdout, /status +completed/)
    assert.match((await ok('invocations', 'follow', 'clerk', run.request_id)).stdout, /my dog is called Rex\n/)
    assert.match((await ok('metrics', 'clerk')).stdout, /throughput, per 1m\n {2}[▁▂▃▄▅▆▇█]+\n {2}min 0 · max 1/)
    assert.match((await ok('logs', 'clerk')).stdout, new RegExp(run.request_id))
    await ok('memory', 'add', 'clerk', 'likes', 'walks', '--user', 'u1')
    assert.match((await ok('memory', 'search', 'clerk', 'dog', 'Rex')).stdout, /my dog is called Rex/)
    assert.equal((await shell.moorage(['memory', 'clear', 'clerk'])).code, 2)
    assert.match((await ok('memory', 'clear', 'clerk', '--yes')).stderr, /Forgot 3 memories/)
  })

  test('logs -f prints each entry once as it comes, until Ctrl-C: exit code 130', async () => {
    await ok('agents', 'create', 'noisy')
    await ok('invoke', 'noisy', 'before')
    const linesOf = (stdout: string) => stdout.trim().split('\n')
    const following = shell.moorage(['logs', 'noisy', '-f', '--json'], {
      stopWhen: (stdout) => linesOf(stdout).length === 3,
    })
    await ok('invoke', 'noisy', 'during')
    // A look later: what was printed by then is not printed again.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    await ok('invoke', 'noisy', 'at last')
    const { code, stdout } = await following
    assert.equal(code, 130)
    const entries = JSON.parse((await ok('logs', 'noisy', '--json')).stdout)
    assert.deepEqual(
      linesOf(stdout).map((line) => JSON.parse(line)),
      entries,
    )
  })

  test('dev deploys on every save, says what is wrong with the file, and prints what happens', async () => {
    const file = join(shell.folder, 'dev.yaml')
    const write = (reply: string) =>
      writeFileSync(file, `name: draft\nmodel: builtin/script\nscript: { rules: [{ reply: "${reply}" }] }\n`)
    const answer = async () => (await shell.moorage(['invoke', 'draft', 'x', '-e', 'dev'])).stdout
    write('one')
    let said = ''
    let isDone = false
    const developing = shell.moorage(['dev', '--file', 'dev.yaml'], {
      stopWhen: (stdout, stderr) => {
        said = stderr
        return isDone && stdout.includes('Invocation completed')
      },
    })
    await until('the first version', async () => (await answer()) === 'one\n')
    writeFileSync(file, 'name: Not A Name\n')
    await until('the mistake', () => /dev\.yaml:1:7: name: must be/.test(said))
    write('two')
    await until('the second version', async () => (await answer()) === 'two\n')
    isDone = true
    await answer()
    assert.equal((await developing).code, 130)
    assert.match(said, /dev serves [0-9a-f]{12} of draft[\s\S]*dev serves [0-9a-f]{12} of draft/)
  })

  test('a message from stdin, a background run, a conversation', async () => {
    assert.equal((await shell.moorage(['invoke', 'hello'], { stdin: 'piped\n' })).stdout, 'piped\n')
    const { stdout } = await ok('invoke', 'hello', 'later', '--background')
    assert.match(stdout, /^req_\w{26}\n$/)
    assert.equal((await ok('invocations', 'follow', 'hello', stdout.trim())).stdout, 'later\n')
    const talk = await shell.moorage(['chat', 'hello'], { stdin: 'first\n\nsecond\n' })
    assert.deepEqual([talk.code, talk.stdout], [0, 'first\nsecond\n'])
  })

  test('any request; the body of an error in words, its status as exit code', async () => {
    assert.equal(JSON.parse((await ok('api', 'GET', '/v1/agents?limit=1')).stdout).pagination.limit, 1)
    const posted = await shell.moorage(['api', 'post', '/v1/agents', '-d', '-'], { stdin: '{"name":"raw"}' })
    assert.equal(JSON.parse(posted.stdout).data.name, 'raw')
    const missing = await shell.moorage(['api', 'GET', '/v1/agents/none'])
    assert.deepEqual([missing.code, missing.stdout], [3, ''])
    assert.match(missing.stderr, /Agent "none" not found\n {2}request req_/)
    assert.equal((await shell.moorage(['api', 'POST', '/v1/agents', '-d', '{'])).code, 2)
  })
})

describe('moorage and its exit codes', () => {
  let service: Service
  let shell: Shell
  before(async () => {
    service = await startService('sqlite')
    shell = newShell(service)
  })
  after(async () => {
    shell.remove()
    await service.stop()
  })

  test('0 ok, 2 usage or 400, 3 not found, 4 auth', async () => {
    const codeOf = async (args: string[], env = {}) => (await shell.moorage(args, { env })).code
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
    const limited = await shell.moorage(['agents', 'list'], { env: { MOORAGE_URL: server.url } })
    assert.equal(limited.code, 6)
    await server.close()
    const gone = await shell.moorage(['agents', 'list'], { env: { MOORAGE_URL: server.url } })
    assert.equal(gone.code, 7)
    assert.match(gone.stderr, /Cannot reach .*ECONNREFUSED/)
  })

  test('did you mean', async () => {
    assert.match((await shell.moorage(['agnets'])).stderr, /Did you mean agents\?/)
    assert.match((await shell.moorage(['keys', 'creat'])).stderr, /Did you mean create\?/)
    assert.match((await shell.moorage(['agents', 'list', '--jsno'])).stderr, /Did you mean --json\?/)
  })

  test('completion: commands, commands of commands, options', async () => {
    const complete = async (...words: string[]) => (await shell.moorage(['__complete', ...words])).stdout.split('\n')
    assert.deepEqual(await complete('ke'), ['keys', ''])
    assert.ok((await complete('keys', '')).includes('rotate'))
    assert.deepEqual(await complete('keys', 'create', '--ro'), ['--role', ''])
    for (const name of ['bash', 'zsh', 'fish']) {
      assert.match((await shell.moorage(['completion', name])).stdout, /moorage __complete/)
    }
    assert.equal((await shell.moorage(['completion', 'tcsh'])).code, 2)
  })

  test('the script for bash completes', async () => {
    const { stdout: script } = await shell.moorage(['completion', 'bash'])
    const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url))
    const { stdout } = await promisify(execFile)('bash', [
      '-c',
      `moorage() { '${process.execPath}' '${main}' "$@"; }\n${script}
       COMP_WORDS=(moorage keys ro) COMP_CWORD=2; _moorage; echo "\${COMPREPLY[@]}"`,
    ])
    assert.equal(stdout, 'rotate\n')
  })

  test('open prints the address of the reference', async () => {
    assert.equal((await shell.moorage(['open'])).stdout, `${service.url}/docs\n`)
  })
})

describe('moorage login', () => {
  let service: Service
  let shell: Shell
  before(async () => {
    service = await startService('sqlite')
    shell = newShell()
  })
  after(async () => {
    shell.remove()
    await service.stop()
  })

  test('keeps url and key where only their owner can read them, and never prints the key', async () => {
    const { code, stdout, stderr } = await shell.moorage(['login', service.url], { stdin: `${service.admin}\n` })
    assert.equal(code, 0, stderr)
    const file = join(shell.folder, 'home/.config/moorage/config.json')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const shown = [
      stdout,
      stderr,
      ...(await Promise.all([shell.moorage(['whoami']), shell.moorage(['profile'])])).map(
        (result) => result.stdout + result.stderr,
      ),
    ].join()
    assert.ok(!shown.includes(service.admin), shown)
    assert.ok(shown.includes(service.url))
    assert.equal((await shell.moorage(['agents', 'list'])).code, 0)
  })

  test('a key that does not work is not kept', async () => {
    const { code } = await shell.moorage(['login', service.url, '--profile', 'bad'], { stdin: 'mrg_wrong\n' })
    assert.equal(code, 4)
    assert.ok(!(await shell.moorage(['profile'])).stdout.includes('bad'))
  })

  test("a profile's key goes to the profile's own service only", async () => {
    const keys: unknown[] = []
    const other = await startLocalServer((request, response) => {
      keys.push(request.headers.authorization)
      response.end('{}')
    })
    const { code, stderr } = await shell.moorage(['agents', 'list', '--url', other.url])
    assert.equal(code, 4)
    assert.match(stderr, /No key for/)
    assert.deepEqual(keys, [])
    await other.close()
  })

  test('several logins, one current; logout forgets', async () => {
    await shell.moorage(['login', service.url, '--profile', 'second'], { stdin: service.admin })
    assert.match((await shell.moorage(['profile'])).stdout, /\* +second/)
    assert.equal((await shell.moorage(['profile', 'use', 'default'])).code, 0)
    assert.match((await shell.moorage(['whoami'])).stdout, /from +profile default/)
    assert.match((await shell.moorage(['whoami', '--profile', 'second'])).stdout, /from +profile second/)
    assert.equal((await shell.moorage(['profile', 'use', 'third'])).code, 3)
    assert.equal((await shell.moorage(['logout', '--profile', 'second'])).code, 0)
    assert.equal((await shell.moorage(['whoami', '--profile', 'second'])).code, 2)
  })
})
