import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { shellOfAdmin } from '../support/clients/cli.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'

describe('moorage, from an empty folder', () => {
  const { service, shell } = shellOfAdmin()
  const ok = async (...args: string[]) => {
    const { code, stdout, stderr } = await shell().moorage(args)
    assert.equal(code, 0, `${args.join(' ')}\n${stdout}${stderr}`)
    return { stdout, stderr }
  }
  const change = (from: string, to: string) => {
    const file = join(shell().folder, 'agent.yaml')
    const text = readFileSync(file, 'utf8')
    assert.ok(text.includes(from))
    writeFileSync(file, text.replace(from, to))
  }

  test('an agent as a file: init, deploy, invoke, change, deploy, roll back', async () => {
    assert.equal((await ok('init', 'greeter')).stdout, 'agent.yaml\n')
    assert.match(
      readFileSync(join(shell().folder, 'agent.yaml'), 'utf8'),
      /^# yaml-language-server: \$schema=\.moorage\//,
    )
    assert.ok(existsSync(join(shell().folder, '.moorage/agent.schema.json')))
    assert.equal((await shell().moorage(['init', 'greeter'])).code, 1)

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

  test('deploying the same content again changes nothing; a label with other content is refused', async () => {
    await ok('init', 'again', '-f', 'again.yaml')
    const first = JSON.parse((await ok('deploy', '--file', 'again.yaml', '--json')).stdout)
    assert.match(first.version, /^[0-9a-f]{12}$/)
    assert.equal(JSON.parse((await ok('deploy', '--file', 'again.yaml', '--json')).stdout).id, first.id)

    await ok('deploy', 'v1', '--file', 'again.yaml')
    const file = join(shell().folder, 'again.yaml')
    writeFileSync(file, `${readFileSync(file, 'utf8')}\nmetadata: { changed: true }\n`)
    const refused = await shell().moorage(['deploy', 'v1', '--file', 'again.yaml'])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /Version v1 of again already exists with different content/)
  })

  test('removing something from the file removes it from the agent', async () => {
    const file = join(shell().folder, 'shrinking.yaml')
    writeFileSync(file, 'name: shrinking\ndescription: long\ntemperature: 1\n')
    await ok('deploy', '--file', 'shrinking.yaml')
    writeFileSync(file, 'name: shrinking\n')
    await ok('deploy', '--file', 'shrinking.yaml')
    const { description, temperature } = JSON.parse((await ok('agents', 'get', 'shrinking', '--json')).stdout)
    assert.deepEqual([description, temperature], [null, null])
  })

  test('all errors in the file are reported with line and column, exit code 2', async () => {
    writeFileSync(join(shell().folder, 'bad.yaml'), 'name: Bad Name\ntemprature: 1\nlimits:\n  max_steps: many\n')
    const { code, stderr } = await shell().moorage(['deploy', '--file', 'bad.yaml'])
    assert.equal(code, 2)
    assert.match(stderr, /bad\.yaml:1:7: name: must be/)
    assert.match(stderr, /bad\.yaml:2:1: temprature: unknown field/)
    assert.match(stderr, /bad\.yaml:4:14: limits\.max_steps: /)
  })

  test('keys create prints only the secret on stdout; rotate and revoke work', async () => {
    const created = await ok('keys', 'create', 'ci', '--role', 'developer')
    assert.match(created.stdout, /^mrg_\w{49}\n$/)
    const [key] = JSON.parse((await ok('keys', 'list', '--json')).stdout)
    assert.equal(key.name, 'ci')
    const use = (secret: string) => shell().moorage(['whoami'], { env: { MOORAGE_API_KEY: secret.trim() } })
    assert.match((await use(created.stdout)).stdout, /permissions +read, write/)

    const rotated = await ok('keys', 'rotate', key.id, '--grace', '0')
    assert.match(rotated.stdout, /^mrg_\w{49}\n$/)
    assert.equal((await use(created.stdout)).code, 4)
    assert.equal((await use(rotated.stdout)).code, 0)

    assert.equal((await shell().moorage(['keys', 'revoke', key.id])).code, 2)
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
    assert.equal((await shell().moorage(['memory', 'clear', 'clerk'])).code, 2)
    assert.match((await ok('memory', 'clear', 'clerk', '--yes')).stderr, /Deleted 3 memories/)
  })

  test('logs -f prints each entry once as it arrives, until Ctrl-C: exit code 130', async () => {
    await ok('agents', 'create', 'noisy')
    await ok('invoke', 'noisy', 'before')
    const linesOf = (stdout: string) => stdout.trim().split('\n')
    const following = shell().moorage(['logs', 'noisy', '-f', '--json'], {
      stopWhen: (stdout) => linesOf(stdout).length === 3,
    })
    await ok('invoke', 'noisy', 'during')
    // One poll later, entries that were already printed must not be printed again.
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

  test('logs -f prints an entry once, even if it is stored between the first two requests', async (t) => {
    await ok('agents', 'create', 'sudden')
    const seen = new AbortController()
    let looks = 0
    const between = await startLocalServer(async ({ url = '', headers }, response) => {
      if (/\/logs\?/.test(url)) looks += 1
      // The client has read where the log ends. This entry is after that, and among the latest entries that it reads next.
      if (looks === 2) await ok('invoke', 'sudden', 'between')
      if (looks === 4) seen.abort()
      const reply = await fetch(service().url + url, { headers: { Authorization: headers.authorization ?? '' } })
      response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text())
    })
    t.after(between.close)
    const { code, stdout, stderr } = await shell().moorage(['logs', 'sudden', '-f', '--json'], {
      env: { MOORAGE_URL: between.url },
      stop: seen.signal,
    })
    assert.equal(code, 130, stderr)
    assert.deepEqual(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
      JSON.parse((await ok('logs', 'sudden', '--json')).stdout),
    )
  })

  test('dev deploys on every save, reports errors in the file, and prints what happens', async () => {
    const file = join(shell().folder, 'dev.yaml')
    const write = (reply: string) =>
      writeFileSync(file, `name: draft\nmodel: builtin/script\nscript: { rules: [{ reply: "${reply}" }] }\n`)
    const answer = async () => (await shell().moorage(['invoke', 'draft', 'x', '-e', 'dev'])).stdout
    write('one')
    let said = ''
    let isDone = false
    const developing = shell().moorage(['dev', '--file', 'dev.yaml'], {
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

  test('invoke reads a message from stdin, starts a background run, and continues a conversation', async () => {
    assert.equal((await shell().moorage(['invoke', 'hello'], { stdin: 'piped\n' })).stdout, 'piped\n')
    const { stdout } = await ok('invoke', 'hello', 'later', '--background')
    assert.match(stdout, /^req_\w{26}\n$/)
    assert.equal((await ok('invocations', 'follow', 'hello', stdout.trim())).stdout, 'later\n')
    const talk = await shell().moorage(['chat', 'hello'], { stdin: 'first\n\nsecond\n' })
    assert.deepEqual([talk.code, talk.stdout], [0, 'first\nsecond\n'])
  })

  test('api sends any request; an error is printed as text, with an exit code for its status', async () => {
    assert.equal(JSON.parse((await ok('api', 'GET', '/v1/agents?limit=1')).stdout).pagination.limit, 1)
    const posted = await shell().moorage(['api', 'post', '/v1/agents', '-d', '-'], { stdin: '{"name":"raw"}' })
    assert.equal(JSON.parse(posted.stdout).data.name, 'raw')
    const missing = await shell().moorage(['api', 'GET', '/v1/agents/none'])
    assert.deepEqual([missing.code, missing.stdout], [3, ''])
    assert.match(missing.stderr, /Agent "none" not found\.\n {2}request req_/)
    assert.equal((await shell().moorage(['api', 'POST', '/v1/agents', '-d', '{'])).code, 2)
  })
})
