import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fillHeaders, redactor, SecretRefused } from '../../src/runtime/tools/fill-secrets.ts'

const HEADERS = { authorization: 'Bearer {{secret.KEY}}' }

const sendTo = (url: string, ...hosts: string[]) =>
  fillHeaders(HEADERS, new URL(url), { KEY: { value: 'v4lue', hosts } })

describe('a secret is sent', () => {
  test('to its own hosts, at any port unless the host names one', () => {
    for (const [url, host] of [
      ['https://api.example.com/x', 'api.example.com'],
      ['https://API.example.com:8443/', 'api.example.com'],
      ['https://api.example.com/', 'API.example.com'],
      ['https://api.example.com/', 'api.example.com:443'],
      ['http://api.example.com/', 'api.example.com:80'],
      ['https://api.example.com:8443/', 'api.example.com:8443'],
      ['https://[2606:4700::1]:8443/', '[2606:4700::1]:8443'],
    ] as const) {
      assert.deepEqual(sendTo(url, 'other.example.com', host), { authorization: 'Bearer v4lue' }, `${url} ${host}`)
    }
  })

  test('to no other host, however similar its name', () => {
    for (const [url, host] of [
      ['https://evil-api.example.com/', 'api.example.com'],
      ['https://evilapi.example.com/', 'api.example.com'],
      ['https://v1.api.example.com/', 'api.example.com'],
      ['https://api.example.com.evil.test/', 'api.example.com'],
      ['https://example.com/', 'api.example.com'],
      ['https://evil.test/api.example.com', 'api.example.com'],
      ['https://evil.test/?api.example.com', 'api.example.com'],
      ['https://api.example.com:8443/', 'api.example.com:443'],
      ['https://api.example.com/', 'api.example.com:8443'],
      ['http://api.example.com/', 'api.example.com:443'],
      ['https://api.example.com:18443/', 'api.example.com:8443'],
      ['https://api.example.com:8444/', 'api.example.com:844'],
      ['https://evil-api.example.com:8443/', 'api.example.com:8443'],
    ] as const) {
      assert.throws(() => sendTo(url, host), SecretRefused, `${url} ${host}`)
    }
    assert.throws(() => sendTo('https://api.example.com/'), SecretRefused)
  })
})

test('a secret that contains another one is hidden completely, in any order', () => {
  const [short, long] = [
    ['SHORT', 'v4lue'],
    ['LONG', 'v4lue-and-more'],
  ] as const
  for (const named of [
    [short, long],
    [long, short],
  ]) {
    const redact = redactor(Object.fromEntries(named))
    assert.equal(redact('got v4lue-and-more and v4lue'), 'got [secret LONG] and [secret SHORT]')
  }
})

test('the rest of a secret at the cut end of a text is hidden, too, if it is at least half of it', () => {
  const redact = redactor({ KEY: 'sk-0123456789abcdef', PIN: '4711' })
  for (const [cut, clean] of [
    ['Bearer sk-0123456789abcde', 'Bearer [secret KEY]'],
    ['"sk-0123456…" is wrong', '"[secret KEY]…" is wrong'],
    ['Bearer sk-01234', 'Bearer sk-01234'],
    [Buffer.from('sk-0123456789abcdef').toString('base64').slice(0, -4), '[secret KEY]'],
    ['4711, 471', '[secret PIN], 471'],
  ] as const) {
    assert.equal(redact(cut), clean)
  }
})
