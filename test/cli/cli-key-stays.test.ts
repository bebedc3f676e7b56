import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { newShell, type Shell, shellOfAdmin } from '../support/clients/cli.ts'
import { type LocalServer, startLocalServer } from '../support/outside/local-server.ts'

const OWN_KEY = 'mrg_of_the_service_at_home'

/** Another server, which accepts every request. */
async function startStranger(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const heard: { url: string | undefined; key: string | undefined }[] = []
  const server = await startLocalServer((request, response) => {
    heard.push({ url: request.url, key: request.headers.authorization })
    answer(request, response)
  })
  return { ...server, heard }
}

const sayYes = (_request: IncomingMessage, response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true,"data":{"id":"whk_1"}}')

describe('a configured key is sent only to its service', () => {
  const { service, shell } = shellOfAdmin()
  let stranger: Awaited<ReturnType<typeof startStranger>>
  before(async () => {
    stranger = await startStranger(sayYes)
  })
  after(() => stranger.close())

  test("webhooks update --url means the service's URL, and that service gets no key", async () => {
    const { body } = await service().call('POST', '/v1/webhooks', {
      body: { url: 'https://example.com/hook', events: ['*'] },
    })
    const update = ['webhooks', 'update', body.data.id, '--url', stranger.url]
    const bare = await shell().moorage(update)
    assert.equal(bare.code, 2)
    assert.match(bare.stderr, /--target/)
    const beside = await shell().moorage([...update, '--status', 'disabled'])
    assert.deepEqual([beside.code, beside.stdout], [4, ''])
    assert.match(beside.stderr, /No key for http:\/\/127\.0\.0\.1:\d+\n/)
    assert.deepEqual(stranger.heard, [])
    const { status } = (await service().call('GET', `/v1/webhooks/${body.data.id}`)).body.data
    assert.equal(status, 'enabled')
  })

  test('--url of the same service gets the key, however the URL is written', async () => {
    for (const url of [service().url, `${service().url}/`, service().url.replace('http:', 'HTTP:')]) {
      assert.equal((await shell().moorage(['whoami', '--url', url])).code, 0, url)
    }
  })

  test('--url selects the login of that service', async () => {
    const home = newShell()
    await home.moorage(['login', service().url, '--profile', 'harbour'], { stdin: service().admin })
    const env = { MOORAGE_URL: stranger.url, MOORAGE_API_KEY: OWN_KEY }
    const { code, stdout } = await home.moorage(['whoami', '--url', service().url], { env })
    home.remove()
    assert.equal(code, 0)
    assert.match(stdout, /from +profile harbour/)
    assert.deepEqual(stranger.heard, [])
  })
})

describe('a key that is configured for one place', () => {
  let home: LocalServer
  let stranger: Awaited<ReturnType<typeof startStranger>>
  let shell: Shell
  const hear = () => stranger.heard.map(({ key }) => key)
  before(async () => {
    home = await startLocalServer((_request, response) =>
      response
        .writeHead(200, { 'x-request-id': 'req_1', 'content-type': 'application/json' })
        .end('{"success":true,"data":{"id":"key_1","permissions":[],"tiers":[],"roles":[]}}'),
    )
    stranger = await startStranger((_request, response) => response.writeHead(418).end())
    shell = newShell()
    const { code } = await shell.moorage(['login', home.url], { stdin: OWN_KEY })
    assert.equal(code, 0)
  })
  after(async () => {
    shell.remove()
    await home.close()
    await stranger.close()
  })

  const elsewhere: [string, string[], Record<string, string>][] = [
    ['a login, and --url elsewhere', ['--url'], {}],
    ['a login, and MOORAGE_URL elsewhere', [], { MOORAGE_URL: 'there' }],
    ['MOORAGE_URL with its key, and --url elsewhere', ['--url'], { MOORAGE_URL: 'home', MOORAGE_API_KEY: OWN_KEY }],
    ['MOORAGE_API_KEY beside a login, and --url elsewhere', ['--url'], { MOORAGE_API_KEY: OWN_KEY }],
  ]
  for (const [name, args, variables] of elsewhere) {
    test(`${name}: no request at all`, async () => {
      const places: Record<string, string> = { there: stranger.url, home: home.url }
      const env = Object.fromEntries(Object.entries(variables).map(([key, value]) => [key, places[value] ?? value]))
      for (const command of [
        ['whoami'],
        ['agents', 'list'],
        ['api', 'GET', '/v1/agents'],
        ['keys', 'list'],
        ['doctor'],
      ]) {
        const { stderr, stdout } = await shell.moorage([...command, ...args.flatMap((flag) => [flag, stranger.url])], {
          env,
        })
        assert.ok(!`${stdout}${stderr}`.includes(OWN_KEY))
      }
      assert.deepEqual(
        hear().filter((key) => key !== undefined),
        [],
      )
    })
  }

  test('MOORAGE_API_KEY of the service on this machine, and --url elsewhere', async () => {
    const nobody = newShell()
    const { code } = await nobody.moorage(['whoami', '--url', stranger.url], { env: { MOORAGE_API_KEY: OWN_KEY } })
    nobody.remove()
    assert.equal(code, 4)
    assert.deepEqual(
      hear().filter((key) => key !== undefined),
      [],
    )
  })

  test('MOORAGE_API_KEY of the usual service, and MOORAGE_PROFILE elsewhere: the login has its own key', async () => {
    const heard: unknown[] = []
    const other = await startLocalServer((request, response) => {
      heard.push(request.headers.authorization)
      response
        .writeHead(200, { 'x-request-id': 'req_1', 'content-type': 'application/json' })
        .end('{"success":true,"data":{"id":"key_2","permissions":[],"tiers":[],"roles":[]}}')
    })
    await shell.moorage(['login', other.url, '--profile', 'other'], { stdin: 'mrg_of_the_other' })
    await shell.moorage(['profile', 'use', 'default'])
    const env = { MOORAGE_API_KEY: OWN_KEY, MOORAGE_PROFILE: 'other' }
    const { code, stdout } = await shell.moorage(['whoami'], { env })
    await other.close()
    assert.equal(code, 0)
    assert.match(stdout, /from +profile other/)
    assert.deepEqual([...new Set(heard)], ['Bearer mrg_of_the_other'])
  })

  test("a login chosen by flag is used whole: its address and its key, whatever the environment's are", async () => {
    const env = { MOORAGE_URL: stranger.url, MOORAGE_API_KEY: 'mrg_of_the_stranger' }
    const { code, stdout, stderr } = await shell.moorage(['whoami', '--profile', 'default'], { env })
    assert.equal(code, 0, stderr)
    assert.match(stdout, new RegExp(`url +${home.url}`))
    assert.match(stdout, /from +profile default/)
  })

  test('a path cannot make another host of the address', async () => {
    const { code } = await shell.moorage(['api', 'GET', '@127.0.0.1/'])
    assert.equal(code, 2)
  })
})

describe('a reply that is not ours', () => {
  const replies: [string, number, Record<string, string>, string][] = [
    ['an empty object', 200, { 'x-request-id': 'req_1' }, '{}'],
    ['no object', 200, { 'x-request-id': 'req_1' }, 'null'],
    ['data without our envelope', 200, { 'x-request-id': 'req_1' }, '{"data":{"id":"agt_1"}}'],
    ['our envelope without a request id', 200, {}, '{"success":true,"data":{"id":"agt_1"}}'],
    ['a page', 200, { 'x-request-id': 'req_1', 'content-type': 'text/html' }, '<html>welcome</html>'],
  ]
  for (const [name, status, headers, body] of replies) {
    test(`${name} is an error, never success`, async () => {
      const server = await startLocalServer((_request, response) => response.writeHead(status, headers).end(body))
      const shell = newShell({ url: server.url, admin: 'mrg_x' })
      const commands = [
        ['agents', 'get', 'a'],
        ['agents', 'update', 'a', '--model', 'm'],
        ['agents', 'list'],
      ]
      for (const args of commands) {
        const { code, stdout, stderr } = await shell.moorage(args)
        assert.deepEqual([code, stdout], [1, ''], `${args.join(' ')}: ${stdout}${stderr}`)
        assert.match(stderr, /Check the URL/)
      }
      shell.remove()
      await server.close()
    })
  }
})
