import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { redact, redactDeep } from '../../src/lib/text/redact.ts'
import { newKey } from '../../src/security/key-format.ts'
import { cpuTimeBelow } from '../support/running/cpu-time.ts'
import { fc } from '../support/running/property.ts'

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJ1c2VyX2lkIjoiMSJ9.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

describe('redact', () => {
  const gone: [string, string][] = [
    [`key ${newKey(randomBytes)} used`, 'key [redacted] used'],
    ['whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=', '[redacted]'],
    ['sk-proj-abc_DEF-0123456789abcdef, next', '[redacted], next'],
    ['sk-ant-api03-AAAABBBBCCCCDDDD', '[redacted]'],
    ['sk_live_51H8abcdefghijklmnop', '[redacted]'],
    ['sk_1234567890123456', '[redacted]'],
    ['ghp_0123456789abcdefghijABCDEFGHIJ012345', '[redacted]'],
    ['AKIAIOSFODNN7EXAMPLE', '[redacted]'],
    [`cookie ${JWT}`, 'cookie [redacted]'],
    [`session-${JWT}, next`, '[redacted], next'],
    [`Bearer ${JWT}`, 'Bearer [redacted]'],
    [`${JWT}.${JWT}`, '[redacted].[redacted]'],
    ['Authorization: Bearer abc123', 'Authorization: Bearer [redacted]'],
    ['authorization: Basic dXNlcjpwYXNz', 'authorization: Basic [redacted]'],
    ['authorization=opaque', 'authorization=[redacted]'],
    ['{"Authorization":"Bearer abc","a":1}', '{"Authorization":"Bearer [redacted]","a":1}'],
    ['{"x-api-key": "abc", "a": 1}', '{"x-api-key": "[redacted]", "a": 1}'],
    ['sent Bearer abc.def-123~x== to it', 'sent Bearer [redacted] to it'],
    ['GET /x?api_key=abc&b=2', 'GET /x?api_key=[redacted]&b=2'],
    ['password: hunter2', 'password: [redacted]'],
    ['client_secret="abc def"', 'client_secret="[redacted] def"'],
    ['postgres://me:secret@db.example.com/x', 'postgres://[redacted]@db.example.com/x'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nend', '[redacted]\nend'],
    ['-----BEGIN PRIVATE KEY-----\nMIIE cut off', '[redacted]'],
  ]
  for (const [text, expected] of gone)
    test(`hides the secret in ${JSON.stringify(text).slice(0, 30)}`, () => assert.equal(redact(text), expected))

  const kept = [
    'Tool weather answered',
    'The bearer of this letter',
    'bearer authentication is required',
    'task-force-with-a-long-name-and-more',
    'https://example.com/a@b?c=d#e',
    'request req_01JCN5W7Q2M8X4T0V9R6B3KZ1A of agt_01JCN5W7Q2M8X4T0V9R6B3KZ1A',
    'tokens_used: 42',
    'The secret weather is not configured',
    'sk-learn 1.2',
    '',
  ]
  for (const text of kept) test(`leaves "${text}" alone`, () => assert.equal(redact(text), text))

  test('no key survives, whatever text surrounds it', () => {
    const around = fc.string({ maxLength: 30 })
    fc.assert(
      fc.property(around, around, fc.uint8Array({ minLength: 32, maxLength: 32 }), (before, after, bytes) => {
        const key = newKey(() => bytes)
        assert.ok(!redact(before + key + after).includes(key))
        assert.ok(!JSON.stringify(redactDeep({ [before]: [{ a: `"${key}"` }], [key]: after })).includes(key))
      }),
    )
  })

  test('50 kB of anything takes milliseconds', () => {
    const parts = [
      'a',
      'a-',
      'bearer ',
      'authorization: ',
      'authorization:',
      '-----BEGIN PRIVATE KEY-----',
      'eyJaaaaaaaa.',
      'http://',
      'api_key=',
      '"',
      ' ',
      'sk-',
      'mrg_',
      'a:',
      '://',
    ]
    for (const part of parts) {
      const text = `${part.repeat(Math.ceil(50_000 / part.length))}!`
      const took = cpuTimeBelow(50, () => redact(text))
      assert.ok(took < 50, `${JSON.stringify(part)} took ${took} ms`)
    }
  })
})

describe('redactDeep', () => {
  test('redacts lists, objects and field names, and keeps everything that is not text', () => {
    const value = {
      tool: 'weather',
      duration_ms: 12,
      tokens_used: 'three',
      authorization: 'anything at all',
      'set-cookie': 'a=b',
      refresh_token: 'r',
      headers: { apiKey: 'k', list: ['Bearer abc123', null, true, 1.5] },
    }
    assert.deepEqual(redactDeep(value), {
      tool: 'weather',
      duration_ms: 12,
      tokens_used: 'three',
      authorization: '[redacted]',
      'set-cookie': '[redacted]',
      refresh_token: '[redacted]',
      headers: { apiKey: '[redacted]', list: ['Bearer [redacted]', null, true, 1.5] },
    })
  })

  test('cuts values that are nested too deeply', () => {
    let nested: unknown = 'bottom'
    for (let depth = 0; depth < 50_000; depth++) nested = [nested]
    assert.match(JSON.stringify(redactDeep(nested)), /^\[+"\[too deep\]"\]+$/)
  })

  test('keeps a field named __proto__', () => {
    const value = JSON.parse('{"__proto__": {"polluted": "yes"}}')
    assert.equal(JSON.stringify(redactDeep(value)), '{"__proto__":{"polluted":"yes"}}')
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
  })
})
