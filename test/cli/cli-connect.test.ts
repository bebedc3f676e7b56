import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { shellOfAdmin, shellOfNobody } from '../support/clients/cli.ts'
import { type Authenticator, enrol } from '../support/clients/mfa.ts'
import { built } from '../support/service/built.ts'
import { startChild } from '../support/service/child.ts'

describe('which service moorage uses', () => {
  const { service, shell } = shellOfNobody()

  test('exit code 4 if a service is named but has no key; the local data is not used instead', async () => {
    const here = { MOORAGE_DATA: service().data }
    const ways: [string[], Record<string, string>][] = [
      [['keys', 'list'], { ...here, MOORAGE_URL: 'http://127.0.0.1:9' }],
      [['keys', 'list', '--url', 'http://127.0.0.1:9'], here],
    ]
    for (const [args, env] of ways) {
      const { code, stdout, stderr } = await shell().moorage(args, { env })
      assert.deepEqual([code, stdout], [4, ''])
      assert.match(
        stderr,
        /No key for http:\/\/127\.0\.0\.1:9\n.*moorage login.*\n.*keys create admin --role admin --local/,
      )
    }
  })

  test('--local prints that it uses the local data, and no warning about a missing key', async () => {
    const told = async (...args: string[]) =>
      (await shell().moorage(['keys', 'list', ...args], { env: { MOORAGE_DATA: service().data } })).stderr.split(
        '\n',
      )[0]
    assert.equal(
      await told(),
      `No key is configured. Using the local data directly (${join(service().data, 'moorage.db')})`,
    )
    assert.equal(await told('--local'), `Using the local data directly (${join(service().data, 'moorage.db')})`)
  })

  test('a list can be written with commas, with spaces or as repeated options', async () => {
    const ways = [
      ['--permissions', 'read,write'],
      ['--permissions', 'read', 'write'],
      ['--permissions', 'read', '--permissions', 'write'],
    ]
    for (const way of ways) {
      const args = ['keys', 'create', 'listed', ...way, '--json', '--local', '--data', service().data]
      const { stdout, stderr } = await shell().moorage(args)
      const { name, permissions } = JSON.parse(stdout || `"${stderr}"`)
      assert.deepEqual({ name, permissions }, { name: 'listed', permissions: ['read', 'write'] })
    }
    const nameless = ['keys', 'create', '--permissions', 'read', 'write', '--local', '--data', service().data]
    assert.equal((await shell().moorage(nameless)).code, 2)
  })

  test('api sends a query unchanged, so the service refuses a repeated parameter', async () => {
    const env = { MOORAGE_URL: service().url, MOORAGE_API_KEY: service().admin }
    const { code, stderr } = await shell().moorage(['api', 'GET', '/v1/agents?limit=1&limit=2'], { env })
    assert.equal(code, 2)
    assert.match(stderr, /limit: /)
  })

  test('through npm, file names are relative to the folder in which npm was called', async () => {
    const person = join(shell().folder, 'person')
    const clone = join(shell().folder, 'clone')
    for (const folder of [person, clone]) mkdirSync(folder)
    const env = { INIT_CWD: person, npm_package_name: 'moorage', npm_lifecycle_event: 'moorage' }
    const child = startChild(process.execPath, [built('cli'), 'init', 'afar'], { cwd: clone, env, stdio: 'ignore' })
    assert.deepEqual(await once(child, 'exit'), [0, null])
    assert.match(readFileSync(join(person, 'agent.yaml'), 'utf8'), /^name: afar$/m)
  })
})

describe('moorage deploy if each step requires a one-time code', () => {
  const { service, shell } = shellOfAdmin()
  let app: Authenticator
  before(async () => {
    const { body } = await service().call('GET', '/v1/keys/self')
    app = await enrol(service(), body.data.id)
    const security = { mfa: { enabled: true, requiredFor: ['update', 'deploy'] } }
    await service().call('POST', '/v1/agents', { body: { name: 'vault', security } })
  })
  const deploy = (description: string, ...args: string[]) => {
    writeFileSync(join(shell().folder, 'agent.yaml'), `name: vault\ndescription: ${description}\n`)
    return shell().moorage(['deploy', description, ...args])
  }
  const described = async () => (await service().call('GET', '/v1/agents/vault')).body.data.description

  test('changes nothing without a code', async () => {
    const { code, stderr } = await deploy('v0')
    assert.equal(code, 4)
    assert.match(stderr, /with --otp/)
    assert.doesNotMatch(stderr, /was not deployed/)
    assert.equal(await described(), null)
  })

  test('needs two codes, one for each step', async () => {
    const { code, stderr } = await deploy('v1', '--otp', `${app.code()},${app.code(1)}`)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /Updated vault: description\n.*production serves v1 of vault/)
  })

  test('with one code, says what was changed and what was not; the next deploy needs only one code', async () => {
    service().advance(90_000)
    const half = await deploy('v2', '--otp', app.code())
    assert.equal(half.code, 4)
    assert.match(half.stderr, /vault was updated, but not deployed to production\. Deploy again\./)
    assert.equal(await described(), 'v2')
    service().advance(90_000)
    const { code, stderr } = await deploy('v2', '--otp', app.code())
    assert.equal(code, 0, stderr)
    assert.match(stderr, /production serves v2 of vault/)
  })
})
