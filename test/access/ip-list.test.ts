import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addressBucket, clientAddress, ipList } from '../../src/security/ip-list.ts'

describe('ipList', () => {
  test('single addresses and ranges, IPv4 and IPv6', () => {
    const list = ipList(['203.0.113.7', '10.0.0.0/8', '2001:db8::/32', '2001:db9::1'])
    for (const address of ['203.0.113.7', '10.0.0.0', '10.255.255.255', '2001:db8:ffff::1', '2001:DB9:0:0::1']) {
      assert.equal(list.allows(address), true, address)
    }
    for (const address of ['203.0.113.8', '11.0.0.0', '9.255.255.255', '2001:db7::1', '2001:db9::2', '::1']) {
      assert.equal(list.allows(address), false, address)
    }
  })

  test('an IPv4-mapped address is the IPv4 address, in the list and in the question', () => {
    assert.equal(ipList(['10.0.0.0/8']).allows('::ffff:10.1.2.3'), true)
    assert.equal(ipList(['10.0.0.0/8']).allows('::ffff:a01:203'), true)
    assert.equal(ipList(['::ffff:10.0.0.0/104']).allows('10.1.2.3'), true)
    assert.equal(ipList(['::ffff:10.0.0.0/104']).allows('11.1.2.3'), false)
    assert.equal(ipList(['::ffff:10.0.0.1']).allows('10.0.0.1'), true)
    assert.equal(ipList(['10.0.0.1']).allows('::10.0.0.1'), false)
  })

  test('the edges of prefixes', () => {
    assert.equal(ipList(['0.0.0.0/0']).allows('203.0.113.1'), true)
    assert.equal(ipList(['0.0.0.0/0']).allows('2001:db8::1'), false)
    assert.equal(ipList(['::/0']).allows('2001:db8::1'), true)
    assert.equal(ipList(['::/0']).allows('203.0.113.1'), false)
    assert.equal(ipList(['10.0.0.5/31']).allows('10.0.0.4'), true)
    assert.equal(ipList(['10.0.0.5/32']).allows('10.0.0.4'), false)
    assert.equal(ipList(['2001:db8::/127']).allows('2001:db8::2'), false)
  })

  test('an empty list allows nothing, and nothing malformed is ever allowed', () => {
    assert.equal(ipList([]).allows('127.0.0.1'), false)
    for (const address of [
      '',
      'localhost',
      '127.1',
      '0x7f.0.0.1',
      '010.0.0.1',
      '1.2.3.4/8',
      ' 1.2.3.4',
      '1.2.3.4:80',
    ]) {
      assert.equal(ipList(['0.0.0.0/0', '::/0']).allows(address), false, address)
    }
  })

  test('a zone of a link-local peer is not part of its address', () => {
    assert.equal(ipList(['fe80::/10']).allows('fe80::1%eth0'), true)
  })

  test('a malformed entry throws and is named', () => {
    for (const entry of [
      '',
      'localhost',
      '10.0.0.0/33',
      '10.0.0.0/-1',
      '10.0.0.0/',
      '10.0.0.0/08',
      '10.0.0/8',
      '010.0.0.0/8',
      '10.1',
      '::/129',
      '::ffff:10.0.0.0/90',
      'fe80::1%eth0',
      '10.0.0.0/8/8',
      ' 10.0.0.1',
      '10.0.0.1,10.0.0.2',
      '*',
      '1e1.0.0.1',
    ]) {
      assert.throws(() => ipList(['127.0.0.1', entry]), {
        message: `"${entry}" is not an IP address or CIDR range`,
      })
    }
  })
})

describe('clientAddress', () => {
  const proxies = ipList(['10.0.0.0/8', '::1'])
  const none = ipList([])

  test('a direct client cannot claim another IP address', () => {
    assert.equal(clientAddress('203.0.113.7', '198.51.100.1', proxies), '203.0.113.7')
    assert.equal(clientAddress('10.0.0.1', '198.51.100.1', none), '10.0.0.1')
    assert.equal(clientAddress('203.0.113.7', 'nonsense', proxies), '203.0.113.7')
  })

  test("behind a trusted proxy, the proxy's entry is used, not what the client wrote before it", () => {
    assert.equal(clientAddress('10.0.0.1', '203.0.113.7', proxies), '203.0.113.7')
    assert.equal(clientAddress('10.0.0.1', '198.51.100.1, 203.0.113.7', proxies), '203.0.113.7')
    assert.equal(clientAddress('10.0.0.1', '127.0.0.1,203.0.113.7 , 10.0.0.2', proxies), '203.0.113.7')
    assert.equal(clientAddress('10.0.0.1', 'nonsense, 203.0.113.7', proxies), '203.0.113.7')
  })

  test('a chain of nothing but proxies ends at its first', () => {
    assert.equal(clientAddress('10.0.0.1', undefined, proxies), '10.0.0.1')
    assert.equal(clientAddress('10.0.0.1', '10.0.0.3, 10.0.0.2', proxies), '10.0.0.3')
  })

  test('IPv4-mapped and IPv6 addresses come out in one spelling', () => {
    assert.equal(clientAddress('::ffff:203.0.113.7', undefined, proxies), '203.0.113.7')
    assert.equal(clientAddress('::ffff:10.0.0.1', '::ffff:203.0.113.7', proxies), '203.0.113.7')
    assert.equal(clientAddress('0:0:0:0:0:0:0:1', '2001:DB8:0:0:0:0:0:1', proxies), '2001:db8::1')
  })

  test('undefined if a trusted entry is not an IP address', () => {
    for (const header of ['', ' ', 'unknown', '203.0.113.7,', '203.0.113.7:443', '_hidden', '203.0.113', '010.1.1.1']) {
      assert.equal(clientAddress('10.0.0.1', header, proxies), undefined, header)
    }
    assert.equal(clientAddress('', undefined, proxies), undefined)
  })
})

describe('addressBucket', () => {
  test('IPv4 by address, IPv6 by /64, mapped as IPv4', () => {
    assert.equal(addressBucket('203.0.113.7'), '203.0.113.7')
    assert.equal(addressBucket('::ffff:203.0.113.7'), '203.0.113.7')
    assert.equal(addressBucket('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
    assert.equal(addressBucket('2001:db8:1:2::'), addressBucket('2001:db8:1:2:ffff:ffff:ffff:ffff'))
    assert.notEqual(addressBucket('2001:db8:1:2::1'), addressBucket('2001:db8:1:3::1'))
  })

  test('anything that is not an address shares one bucket', () => {
    assert.equal(addressBucket('a'), addressBucket('b'))
  })
})
