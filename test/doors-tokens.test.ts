import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { DOORS } from './support/doors.ts'
import { createAgent } from './support/resources.ts'
import { onAnyEngine, type Reply } from './support/service.ts'
import { signJwt } from './support/tokens.ts'

const SECRET = 'the secret with which this agent alone is asked'
const SHOP = 'https://shop.example'
const ELSEWHERE = 'https://elsewhere.example'

const grantOf = ({ headers }: Reply) => headers.get('access-control-allow-origin')

onAnyEngine("an agent's own tokens and pages, through every door", (service) => {
  let token: string
  before(async () => {
    await createAgent(service(), 'shop', {
      auth: { type: 'jwt', secret: SECRET },
      security: { cors: { origins: [SHOP] } },
    })
    token = await signJwt({ permissions: ['read', 'invoke'] }, { secret: SECRET })
  })

  for (const [door, invoke] of Object.entries(DOORS)) {
    test(`${door}: takes them for that agent, and tells nobody whether another exists`, async () => {
      const ask = (agent: string, key: string) => invoke(service(), { agent, message: 'ahoy', key })
      assert.deepEqual(await ask('shop', token), { response: 'ahoy' })
      const forged = await signJwt({ permissions: ['invoke'] }, { secret: 'another secret that is just as long' })
      const refused = { code: 'unauthorized', status: 401 }
      assert.deepEqual(await ask('shop', forged), refused)
      assert.deepEqual(await ask('hello', token), refused)
      assert.deepEqual(await ask('nobody', token), refused)
    })
  }

  test('a response is read again with them, and by no other agent’s', async () => {
    const asked = { model: 'shop', input: 'ahoy' }
    const { body } = await service().call('POST', '/v1/responses', { key: token, body: asked })
    assert.equal((await service().call('GET', `/v1/responses/${body.id}`, { key: token })).status, 200)
    const other = await service().call('POST', '/v1/responses', { body: { model: 'hello', input: 'x' } })
    assert.equal((await service().call('GET', `/v1/responses/${other.body.id}`, { key: token })).status, 401)
  })

  test('a body that cannot be read, or is too large, names nobody', async () => {
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

  test('pages that the agent lists read its answers, and no other’s', async () => {
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
