import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { constantTimeEqual, sha256 } from '../../src/security/digest.ts'
import { keyring, loadMasterKey, masterKeyFingerprint } from '../../src/security/keyring.ts'
import { covers, coversAll, Permission, permissionsOf } from '../../src/security/permissions.ts'
import { startChild } from '../support/service/child.ts'

const masterKey = Buffer.from('000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', 'hex')

describe('hash and compare', () => {
  test('sha256 is the hex digest of the UTF-8 bytes', () => {
    assert.equal(sha256('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    assert.equal(sha256('é'), sha256(Buffer.from([0xc3, 0xa9]).toString('utf8')))
  })

  test('constantTimeEqual also answers for different lengths', () => {
    assert.equal(constantTimeEqual('secret', 'secret'), true)
    assert.equal(constantTimeEqual('secret', 'secreT'), false)
    assert.equal(constantTimeEqual('secret', 'secret '), false)
    assert.equal(constantTimeEqual('', ''), true)
  })
})

describe('keyring', () => {
  const ring = keyring(masterKey)

  test('decrypts what it encrypted', () => {
    for (const plain of ['whsec_abc', '', 'ключ 🔑', 'x'.repeat(100_000)]) {
      assert.equal(ring.decrypt(ring.encrypt(plain, 'webhook.secret'), 'webhook.secret'), plain)
    }
  })

  test('encrypts the same text differently each time, without revealing any of it', () => {
    const first = ring.encrypt('whsec_abc', 'webhook.secret')
    assert.match(first, /^v1\.[A-Za-z0-9_-]+$/)
    assert.notEqual(first, ring.encrypt('whsec_abc', 'webhook.secret'))
    assert.equal(Buffer.from(first.slice(3), 'base64url').includes('whsec_abc'), false)
  })

  test('rejects another purpose and another master key', () => {
    const sealed = ring.encrypt('whsec_abc', 'webhook.secret')
    assert.throws(() => ring.decrypt(sealed, 'idempotency.reply'), /wrong master key/)
    assert.throws(() => keyring(Buffer.alloc(32, 7)).decrypt(sealed, 'webhook.secret'), /wrong master key/)
  })

  test('rejects a change to any byte', () => {
    const sealed = ring.encrypt('whsec_abc', 'webhook.secret')
    const bytes = Buffer.from(sealed.slice(3), 'base64url')
    for (let at = 0; at < bytes.length; at += 1) {
      const altered = Buffer.from(bytes)
      altered[at] = (altered[at] ?? 0) ^ 1
      assert.throws(() => ring.decrypt(`v1.${altered.toString('base64url')}`, 'webhook.secret'), /wrong master key/)
    }
  })

  test('rejects values in another format', () => {
    const sealed = ring.encrypt('whsec_abc', 'webhook.secret')
    for (const bad of ['', 'v1.', 'v1.AAAA', 'whsec_abc', `v2.${sealed.slice(3)}`, `${sealed}=`, `${sealed} `]) {
      assert.throws(() => ring.decrypt(bad, 'webhook.secret'), /not in the v1 format/, bad)
    }
  })

  test('rejects a master key that is not 32 bytes', () => {
    assert.throws(() => keyring(Buffer.alloc(16)), /must have 32 bytes, not 16/)
  })

  test('masterKeyFingerprint is short, stable, and different for another key', () => {
    assert.match(masterKeyFingerprint(masterKey), /^[0-9a-f]{8}$/)
    assert.equal(masterKeyFingerprint(masterKey), masterKeyFingerprint(Buffer.from(masterKey)))
    assert.notEqual(masterKeyFingerprint(masterKey), masterKeyFingerprint(Buffer.alloc(32, 7)))
    assert.equal(masterKey.toString('hex').includes(masterKeyFingerprint(masterKey)), false)
  })
})

describe('master key', () => {
  const root = mkdtempSync(join(tmpdir(), 'moorage-secrets-'))
  after(() => rmSync(root, { recursive: true }))
  let folders = 0
  const freshDir = () => join(root, String((folders += 1)), 'data')

  test('a configured key is taken as hex, base64 and base64url, and leaves no file', () => {
    const dataDir = freshDir()
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      const loaded = loadMasterKey({ masterKey: `${masterKey.toString(encoding)}\n`, dataDir })
      assert.deepEqual(loaded, masterKey, encoding)
    }
    assert.throws(() => statSync(dataDir), { code: 'ENOENT' })
  })

  test('a configured key of another length is refused without being repeated', () => {
    for (const bad of ['', 'password', 'ab'.repeat(31), Buffer.alloc(31).toString('base64')]) {
      assert.throws(
        () => loadMasterKey({ masterKey: bad, dataDir: freshDir() }),
        (error: Error) =>
          /configured master key must be 32 random bytes/.test(error.message) && !(bad && error.message.includes(bad)),
      )
    }
  })

  test('without one, a private file is created once and read ever after', () => {
    const dataDir = freshDir()
    const created = loadMasterKey({ dataDir })
    assert.equal(created.length, 32)
    assert.deepEqual(loadMasterKey({ dataDir }), created)
    assert.deepEqual(loadMasterKey({ dataDir }), created)
    assert.deepEqual(readdirSync(dataDir), ['master.key'])
    if (process.platform === 'win32') return
    assert.equal(statSync(join(dataDir, 'master.key')).mode & 0o777, 0o600)
    assert.equal(statSync(dataDir).mode & 0o777, 0o700)
  })

  test('a file that others may read is refused', { skip: process.platform === 'win32' }, () => {
    const dataDir = freshDir()
    loadMasterKey({ dataDir })
    for (const mode of [0o640, 0o604, 0o660]) {
      chmodSync(join(dataDir, 'master.key'), mode)
      assert.throws(() => loadMasterKey({ dataDir }), /master\.key has mode 06.*chmod 600/)
    }
  })

  test('an empty or broken file is refused, not replaced', () => {
    const dataDir = freshDir()
    loadMasterKey({ dataDir })
    for (const content of ['', 'short\n']) {
      writeFileSync(join(dataDir, 'master.key'), content)
      assert.throws(() => loadMasterKey({ dataDir }), /master\.key must be 32 random bytes/)
      assert.equal(readFileSync(join(dataDir, 'master.key'), 'utf8'), content)
    }
  })

  test('processes that start together agree on one key', async () => {
    const dataDir = freshDir()
    const script = `import { loadMasterKey } from ${JSON.stringify(new URL('../../src/security/keyring.ts', import.meta.url))}
      process.stdin.once('data', () => {
        process.stdout.write(loadMasterKey({ dataDir: ${JSON.stringify(dataDir)} }).toString('hex'))
        process.stdin.destroy()
      })
      process.stderr.write('ready')`
    const children = Array.from({ length: 4 }, () =>
      startChild(process.execPath, ['--input-type=module', '-e', script]),
    )
    await Promise.all(children.map((child) => once(child.stderr, 'data')))
    for (const child of children) child.stdin.write('go')
    const keys = await Promise.all(children.map((child) => text(child.stdout)))
    assert.match(keys[0] ?? '', /^[0-9a-f]{64}$/)
    assert.deepEqual(new Set(keys).size, 1)
    assert.deepEqual(readdirSync(dataDir), ['master.key'])
  })
})

describe('permissions', () => {
  test('the three roles of the specification', () => {
    assert.deepEqual(permissionsOf('admin'), ['read', 'write', 'delete', 'manage', 'approve'])
    assert.deepEqual(permissionsOf('developer'), ['read', 'write'])
    assert.deepEqual(permissionsOf('viewer'), ['read'])
  })

  test('an unknown or inherited name is no role', () => {
    for (const role of ['root', '', 'constructor', '__proto__', 'toString']) assert.deepEqual(permissionsOf(role), [])
  })

  test('roles may be configured', () => {
    assert.deepEqual(permissionsOf('janitor', { janitor: ['delete'] }), ['delete'])
    assert.deepEqual(permissionsOf('admin', { janitor: ['delete'] }), [])
  })

  test('write includes invoke, and no other permission another', () => {
    for (const held of Permission.options) {
      for (const wanted of Permission.options) {
        const expected = held === wanted || (held === 'write' && wanted === 'invoke')
        assert.equal(covers([held], wanted), expected, `${held} ${wanted}`)
      }
    }
  })

  test('coversAll wants every permission', () => {
    assert.equal(coversAll(['read', 'write'], ['write', 'read', 'invoke']), true)
    assert.equal(coversAll(['read'], ['read', 'write']), false)
    assert.equal(coversAll([], []), true)
  })
})
