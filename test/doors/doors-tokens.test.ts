import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { before, test } from 'node:test'
import { DOORS } from '../support/clients/doors.ts'
import { head, sendRaw } from '../support/clients/raw.ts'
import { signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { onOneEngine, type Reply } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const SECRET = 'the secret with which this agent alone is asked'
const SHOP = 'https://shop.example'
const ELSEWHERE = 'https://elsewhere.example'

const grantOf = ({ headers }: Reply) => headers.get('access-control-allow-origin')

onOneEngine("an agent's own tokens and web pages, on every channel", (service) => {
  let token: string
  before(async () => {
    await createAgent(service(), 'shop', {
      auth: { type: 'jwt', secret: SECRET },
      security: { cors: { origins: [SHOP] } },
    })
    token = await signJwt({ permissions: ['read', 'invoke'] }, { secret: SECRET })
  })

  for (const [door, invoke] of Object.entries(DOORS)) {
    test(`${door}: accepts tokens for that agent, and does not reveal whether other agents exist`, async () => {
      const ask = (agent: string, key: string) => invoke(service(), { agent, message: 'ahoy', key })
      assert.deepEqual(await ask('shop', token), { response: 'ahoy' })
      const forged = await signJwt({ permissions: ['invoke'] }, { secret: 'another secret that is just as long' })
      const refused = { code: 'unauthorized', status: 401 }
      assert.deepEqual(await ask('shop', forged), refused)
      assert.deepEqual(await ask('hello', token), refused)
      assert.deepEqual(await ask('nobody', token), refused)
    })
  }

  test("a token can read its agent's responses, and no others", async () => {
    const asked = { model: 'shop', input: 'ahoy' }
    const { body } = await service().call('POST', '/v1/responses', { key: token, body: asked })
    assert.equal((await service().call('GET', `/v1/responses/${body.id}`, { key: token })).status, 200)
    const other = await service().call('POST', '/v1/responses', { body: { model: 'hello', input: 'x' } })
    assert.equal((await service().call('GET', `/v1/responses/${other.body.id}`, { key: token })).status, 401)
  })

  test('401 for a body that is invalid or too large, because it names no agent', async () => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    for (const body of [
      '{"model": "shop"',
      'null',
      '[]',
      '{"model": 5}',
      `{"model": "shop", "x": "${'x'.repeat(2e6)}"}`,
    ]) {
      const reply = await fetch(`${service().url}/v1/chat/completions`, { method: 'POST', headers, body }).catch(
        () => null,
      )
      assert.ok(reply === null || reply.status === 401, `${reply?.status} ${body.slice(0, 20)}`)
    }
  })

  test("pages of an allowed origin can read the agent's answers, and no other's", async () => {
    const preflight = (path: string, Origin: string) =>
      service().call('OPTIONS', path, { key: null, headers: { Origin, 'Access-Control-Request-Method': 'POST' } })
    for (const path of ['/v1/chat/completions', '/v1/responses', '/v1/mcp']) {
      assert.deepEqual([(await preflight(path, SHOP)).status, grantOf(await preflight(path, SHOP))], [200, SHOP])
      assert.equal((await preflight(path, ELSEWHERE)).status, 401)
    }
    const chat = (model: string, Origin: string) =>
      service().call('POST', '/v1/chat/completions', {
        headers: { Origin },
        body: { model, messages: [{ role: 'user', content: 'ahoy' }] },
      })
    assert.equal(grantOf(await chat('shop', SHOP)), SHOP)
    assert.equal(grantOf(await chat('hello', SHOP)), null)
    assert.equal(grantOf(await chat('shop', ELSEWHERE)), null)
    const call = (name: string, Origin: string) =>
      service().call('POST', '/v1/mcp', {
        headers: { Origin, Accept: 'application/json, text/event-stream' },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { message: 'ahoy' } } },
      })
    assert.deepEqual([(await call('shop', SHOP)).status, grantOf(await call('shop', SHOP))], [200, SHOP])
    assert.equal(grantOf(await call('hello', SHOP)), null)
    assert.equal((await call('shop', ELSEWHERE)).status, 403)
  })
})

/** A request whose body lacks its last byte. */
function unfinished(token: string): string {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Content-Length': '17' }
  return head('POST /v1/chat/completions', headers) + '{"model": "shop"'
}

onOneEngine(
  'request bodies from unknown clients',
  (service) => {
    const statusOf = async (token: string) => (await sendRaw(service().url, unfinished(token)))[0]?.status

    test('401 without waiting for the body if no agent accepts such a token; the requests count as failed', async () => {
      assert.equal(await statusOf(await signJwt()), 401)
      await createAgent(service(), 'shop', { auth: { type: 'jwt', secret: SECRET } })
      assert.deepEqual([await statusOf('abc'), await statusOf('abc'), await statusOf('abc')], [401, 401, 429])
    })
  },
  { MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '3' },
)

onOneEngine(
  'many request bodies from unknown clients',
  (service) => {
    test('only a few are read at the same time; others get 503 until one has ended', async () => {
      await createAgent(service(), 'shop', { auth: { type: 'jwt', secret: SECRET } })
      const forged = await signJwt({}, { secret: 'another secret that is just as long' })
      const { hostname, port } = new URL(service().url)
      const statuses: number[] = []
      const hold = () => {
        const socket: Socket = connect(Number(port), hostname)
        socket.on('error', () => {})
        socket.once('data', (data) => statuses.push(Number(data.toString().slice(9, 12))))
        socket.write(unfinished(forged))
        return socket
      }
      const held = Array.from({ length: 33 }, hold)
      await until('one is refused', () => statuses.length > 0)
      assert.deepEqual(statuses, [503])
      for (const socket of held) socket.write('}')
      await until('the others are refused as failures', () => statuses.length === 33)
      assert.deepEqual(new Set(statuses.slice(1)), new Set([401]))
      const again = hold()
      again.write('}')
      await until('there is room again', () => statuses.length === 34)
      assert.equal(statuses[33], 401)
    })
  },
  { MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '100' },
)
