import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connectMcp } from '../support/clients/mcp-client.ts'
import {
  type IdentityProviderServer,
  newSigningKey,
  type SigningKey,
  signToken,
  startIdentityProvider,
} from '../support/outside/identity-provider.ts'
import { type Service, startService } from '../support/service/service.ts'

const METADATA = '/.well-known/oauth-protected-resource'
const PATHS = ['/v1/mcp', '/v1/agents/hello/mcp']

describe('MCP where the service takes tokens of a provider', () => {
  let idp: IdentityProviderServer
  let key: SigningKey
  let service: Service
  before(async () => {
    idp = await startIdentityProvider()
    key = await newSigningKey('key-1')
    idp.keys = [key.jwk]
    service = await startService('sqlite', {
      MOORAGE_AUTH__TYPE: 'oauth2',
      MOORAGE_AUTH__PROVIDER: idp.issuer,
      MOORAGE_AUTH__CLIENT_ID: 'moorage',
    })
  })
  after(async () => {
    await service.stop()
    await idp.close()
  })

  for (const path of PATHS) {
    test(`${path}: a refusal names the document that names the provider`, async () => {
      const refused = await service.call('POST', path, { key: null, body: {} })
      assert.equal(refused.status, 401)
      const document = `${service.url}${METADATA}${path}`
      const challenge = `Bearer realm="moorage", resource_metadata="${document}"`
      assert.equal(refused.headers.get('www-authenticate'), challenge)
      const reply = await fetch(document)
      assert.equal(reply.status, 200)
      const { resource, authorization_servers, scopes_supported } = (await reply.json()) as Record<
        'resource' | 'authorization_servers' | 'scopes_supported',
        string[]
      >
      assert.equal(resource, service.url + path)
      assert.deepEqual(authorization_servers, [idp.issuer])
      assert.ok(scopes_supported.includes('invoke:agents'))
    })
  }

  test('it is the same for an agent that does not exist', async () => {
    const path = '/v1/agents/nobody/mcp'
    const refused = await service.call('POST', path, { key: null, body: {} })
    assert.match(refused.headers.get('www-authenticate') ?? '', /resource_metadata=/)
    assert.equal((await fetch(`${service.url}${METADATA}${path}`)).status, 200)
  })

  test('a token calls a tool, and a key does as well', async (t) => {
    const exp = Math.floor(Date.now() / 1000) + 3600
    const claims = { iss: idp.issuer, sub: 'ann', aud: 'moorage', exp, scope: 'invoke:agents' }
    const token = await signToken(claims, key)
    for (const credential of [token, service.admin]) {
      const client = await connectMcp(t, service, '2026-07-28', { key: credential })
      const result = await client.callTool({ name: 'hello', arguments: { message: 'ahoy' } })
      assert.deepEqual(result.content, [{ type: 'text', text: 'ahoy' }])
    }
  })
})

test('without a provider, the document is 404, and clients use a key', async () => {
  const service = await startService('sqlite')
  try {
    const refused = await service.call('POST', '/v1/mcp', { key: null, body: {} })
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer realm="moorage"')
    assert.equal((await service.call('GET', `${METADATA}/v1/mcp`)).status, 404)
  } finally {
    await service.stop()
  }
})
