import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Router } from '../../src/http/server/router.ts'

describe('the router', () => {
  const router = new Router<string>()
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/v1/keys'],
    ['GET', '/v1/keys/self'],
    ['GET', '/v1/keys/{key_id}'],
    ['DELETE', '/v1/keys/{key_id}'],
    ['POST', '/v1/keys/{key_id}/rotate'],
    ['GET', '/v1/agents/{agent_id}/invocations/{request_id}'],
  ] as const) {
    router.add(method, path, `${method} ${path}`)
  }
  const find = (line: string) => {
    const [method = '', path = ''] = line.split(' ')
    const found = router.find(method, path)
    return found && [found.value, found.params]
  }

  test('finds words and parameters, and a word before a parameter', () => {
    assert.deepEqual(find('GET /'), ['GET /', {}])
    assert.deepEqual(find('GET /v1/keys/self'), ['GET /v1/keys/self', {}])
    assert.deepEqual(find('GET /v1/keys/other'), ['GET /v1/keys/{key_id}', { key_id: 'other' }])
    assert.deepEqual(find('GET /v1/agents/a/invocations/r'), [
      'GET /v1/agents/{agent_id}/invocations/{request_id}',
      { agent_id: 'a', request_id: 'r' },
    ])
  })

  test('goes back to a parameter where a word leads nowhere', () => {
    assert.deepEqual(find('DELETE /v1/keys/self'), ['DELETE /v1/keys/{key_id}', { key_id: 'self' }])
    assert.deepEqual(find('POST /v1/keys/self/rotate'), ['POST /v1/keys/{key_id}/rotate', { key_id: 'self' }])
  })

  test('names the methods of a path, also where its escapes cannot be read', () => {
    assert.deepEqual(
      router.methods('/v1/keys/self', () => true),
      ['GET', 'DELETE'],
    )
    assert.deepEqual(
      router.methods('/v1/keys/self', (value) => value.startsWith('DELETE')),
      ['DELETE'],
    )
    assert.deepEqual(
      router.methods('/v1/keys/%E0%A4%A', () => true),
      ['GET', 'DELETE'],
    )
    assert.deepEqual(
      router.methods('/v1/keys/', () => true),
      [],
    )
  })

  test('decodes parameters after splitting the path, and never matches an encoded character with a fixed word', () => {
    assert.deepEqual(find('GET /v1/keys/a%2Fb%20%C3%BC'), ['GET /v1/keys/{key_id}', { key_id: 'a/b ü' }])
    assert.equal(find('GET /v1/%6Beys'), undefined)
    assert.deepEqual(find('GET /v1/keys/%73elf'), ['GET /v1/keys/{key_id}', { key_id: 'self' }])
    assert.throws(() => find('GET /v1/keys/%E0%A4%A'), URIError)
  })

  test('finds nothing for other methods and paths, and no empty parameter', () => {
    for (const line of [
      'PUT /v1/keys',
      'GET /v1/keys/',
      'GET /v1//self',
      'GET /v1/agents//invocations/r',
      'GET v1/keys',
      'GET /v1/Keys',
      'GET /v1/keys/a/b',
      'GET /__proto__',
      'GET ',
    ]) {
      assert.equal(find(line), undefined, line)
    }
  })
})
