import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkUrl, type UrlPolicy } from '../../src/security/outgoing/guarded-url.ts'
import { policiesOf } from '../../src/security/outgoing/policies.ts'
import { cpuTimeBelow } from '../support/running/cpu-time.ts'

const strict: UrlPolicy = { allowInsecure: false, allowedCidrs: [] }

function codeOf(url: string, policy: UrlPolicy = strict): string | undefined {
  return checkUrl(url, policy)?.code
}

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}

describe('checkUrl: form', () => {
  test('ordinary public addresses pass', () => {
    for (const url of [
      'https://example.com',
      'https://example.com.:8443/hook?a=1&b=%23',
      'https://sub.example.co.uk/ünïcode',
      'https://münchen.example/',
      'https://1.1.1.1/',
      'https://[2606:4700:4700::1111]/',
      'https://[2002:101:101::1]/',
      'https://[64:ff9b::1.1.1.1]/',
    ]) {
      assert.equal(checkUrl(url, strict), undefined, url)
    }
    assert.equal(checkUrl(new URL('https://example.com/'), strict), undefined)
  })

  test('another scheme, user name, fragment or dangerous port is refused, and the message says which', () => {
    const messages = {
      'http://example.com/': 'must use https',
      'ftp://example.com/': 'must use https',
      'file:///etc/passwd': 'must use https',
      'javascript:alert(1)': 'must use https',
      'https://user@example.com/': 'must not contain a user name or password',
      'https://user:pass@example.com/': 'must not contain a user name or password',
      'https://:pass@example.com/': 'must not contain a user name or password',
      'https://example.com/#top': 'must not contain a fragment',
      'https://example.com/#': 'must not contain a fragment',
      'https://example.com:22/': 'must not use port 22',
      'https://example.com:25/': 'must not use port 25',
      'https://example.com:0/': 'must not use port 0',
      'https://example..com/': 'must not have an empty label in its host name',
      'https://exa\nmple.com/': 'must not contain spaces or control characters',
      ' https://example.com/': 'must not contain spaces or control characters',
      'https://example.com:99999/': 'must be a valid URL',
      'https://': 'must be a valid URL',
      'example.com': 'must be a valid URL',
      '': 'must be a valid URL',
    }
    for (const [url, message] of Object.entries(messages)) {
      assert.deepEqual(checkUrl(url, strict), { code: 'invalid_url', message }, url)
    }
  })

  test('2048 characters pass, 2049 do not, also when only escaping makes them so many', () => {
    const start = 'https://example.com/'
    assert.equal(codeOf(start.padEnd(2048, 'a')), undefined)
    assert.equal(codeOf(start.padEnd(2049, 'a')), 'invalid_url')
    assert.equal(codeOf(start.padEnd(1000, 'ü')), 'invalid_url')
  })

  test('allowInsecure lets plain http in, and nothing else', () => {
    const insecure = { ...strict, allowInsecure: true }
    assert.equal(codeOf('http://example.com/', insecure), undefined)
    assert.equal(codeOf('ftp://example.com/', insecure), 'invalid_url')
    assert.equal(codeOf('http://127.0.0.1/', insecure), 'blocked_address')
  })
})

describe('checkUrl: addresses', () => {
  test('loopback is refused in every spelling', () => {
    for (const host of words(`
      127.0.0.1 127.255.255.254 2130706433 0x7f000001 0x7f.1 0177.0.0.1 017700000001 127.1 127.0.1
      127.0.0.1. １２７.０.０.１ 127。0。0。1 ①②⑦.0.0.1 %31%32%37.0.0.1 localhost localhost. LOCALHOST
      app.localhost app.localhost. [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1]
      [::127.0.0.1] [::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::]
    `)) {
      assert.equal(codeOf(`https://${host}/`), 'blocked_address', host)
    }
  })

  test('every special-purpose IPv4 range is refused, including its first and last address', () => {
    for (const host of words(`
      0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.1 100.127.255.255 169.254.0.0 169.254.169.254
      169.254.255.255 172.16.0.0 172.31.255.255 168.63.129.16 192.0.0.0 192.0.0.192 192.0.2.1 192.31.196.1
      192.52.193.1 192.88.99.1 192.168.0.0 192.168.255.255 192.175.48.1 198.18.0.0 198.19.255.255
      198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
    `)) {
      assert.equal(codeOf(`https://${host}/`), 'blocked_address', host)
    }
    for (const host of ['9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '172.15.255.255', '172.32.0.0']) {
      assert.equal(codeOf(`https://${host}/`), undefined, host)
    }
  })

  test('IPv6 outside the global range and in its special parts is refused', () => {
    for (const host of words(`
      :: fe80::1 fec0::1 fc00::1 fd00:ec2::254 ff02::1 100::1 5f00::1 4000::1 2001::1 2001:0:7f00:1::
      2001:2::1 2001:10::1 2001:20::1 2001:db8::1 3fff::1 2002:a00:1::1 2002:a9fe:a9fe::
      64:ff9b::a9fe:a9fe 64:ff9b::10.0.0.1 64:ff9b:1::1.1.1.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254
      2620:4f:8000::1
    `)) {
      assert.equal(codeOf(`https://[${host}]/`), 'blocked_address', host)
    }
  })

  test('allowedCidrs allow exactly those addresses', () => {
    const lan = { ...strict, allowedCidrs: ['10.1.0.0/16', '127.0.0.1', 'fd00::/8'] }
    for (const host of ['10.1.2.3', '[::ffff:10.1.2.3]', '127.0.0.1', 'localhost', '[fd00::1]', '1.1.1.1']) {
      assert.equal(codeOf(`https://${host}/`, lan), undefined, host)
    }
    for (const host of ['10.2.0.1', '127.0.0.2', '[::1]', '[fe80::1]', '192.168.0.1', '[64:ff9b::10.1.2.3]']) {
      assert.equal(codeOf(`https://${host}/`, lan), 'blocked_address', host)
    }
    assert.throws(
      () => checkUrl('https://example.com/', { ...strict, allowedCidrs: ['10.0.0.0/33'] }),
      /10\.0\.0\.0\/33/,
    )
  })

  test('webhooks use the settings in outgoing, unless webhooks has its own, even an empty list', () => {
    const outgoing = { allowInsecure: true, allowedCidrs: ['10.0.0.0/8'] }
    const near = (webhooks: Parameters<typeof policiesOf>[0]['webhooks']) =>
      codeOf('http://10.1.2.3/', policiesOf({ outgoing, webhooks }).webhooks)
    assert.equal(near({}), undefined)
    assert.equal(near({ allowedCidrs: [] }), 'blocked_address')
    assert.equal(near({ allowedCidrs: ['192.168.0.0/16'] }), 'blocked_address')
    assert.equal(near({ allowInsecure: false }), 'invalid_url')
  })

  test('a long malicious URL is checked quickly', () => {
    const took = cpuTimeBelow(200, () => {
      for (const part of ['a', '.', '1.', '%', '[', ':', '@', '127.']) codeOf(`https://${part.repeat(50_000)}`)
      for (const part of ['a', '.', '1.', '%', '[', ':', '@', '127.']) codeOf(`https://${part.repeat(500)}`)
    })
    assert.ok(took < 200, `${took} ms`)
  })
})
