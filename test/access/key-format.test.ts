import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { loadConfig } from '../../src/config.ts'
import { isWellFormedKey, newKey } from '../../src/security/key-format.ts'
import { newShell } from '../support/clients/cli.ts'

// Made with another implementation of base62 and CRC32.
const VECTORS: [random: Uint8Array, key: string][] = [
  [new Uint8Array(32), 'mrg_000000000000000000000000000000000000000000033gWr1'],
  [Uint8Array.from({ length: 32 }, (_, index) => index), 'mrg_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf2Wnokp'],
  [new Uint8Array(32).fill(255), 'mrg_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp10EKXcl'],
]

describe('key format', () => {
  test('the same random bytes always give the same key', () => {
    for (const [random, key] of VECTORS)
      assert.equal(
        newKey(() => random),
        key,
      )
  })

  test('a new key is well formed and contains 256 random bits', () => {
    const sizes: number[] = []
    for (let count = 0; count < 100; count++) {
      const key = newKey((size) => {
        sizes.push(size)
        return randomBytes(size)
      })
      assert.match(key, /^mrg_[0-9A-Za-z]{49}$/)
      assert.ok(isWellFormedKey(key), key)
    }
    assert.deepEqual(new Set(sizes), new Set([32]))
  })

  test('a key with any changed character is not valid', () => {
    const key = newKey(randomBytes)
    for (let index = 0; index < key.length; index++) {
      const changed = key.slice(0, index) + (key[index] === 'x' ? 'y' : 'x') + key.slice(index + 1)
      assert.equal(isWellFormedKey(changed), false, `changed at ${index}`)
    }
  })

  test('other texts are not keys', () => {
    const key = newKey(randomBytes)
    for (const text of [
      '',
      'mrg_',
      key.slice(1),
      key.slice(0, -1),
      `${key}0`,
      ` ${key}`,
      `${key}\n`,
      key.toUpperCase(),
    ]) {
      assert.equal(isWellFormedKey(text), false, JSON.stringify(text))
    }
  })
})

test('moorage keys generate: another key each time, which a configuration accepts as the first one', async () => {
  const shell = newShell()
  const plain = await shell.moorage(['keys', 'generate'])
  const json = await shell.moorage(['keys', 'generate', '--json'])
  shell.remove()
  assert.deepEqual([plain.code, plain.stderr, json.code], [0, '', 0])
  const keys = [plain.stdout.trimEnd(), JSON.parse(json.stdout).secret]
  assert.notEqual(keys[0], keys[1])
  for (const key of keys) {
    assert.equal(loadConfig({ env: { MOORAGE_INIT_KEY: key }, cwd: shell.folder }).config.initKey, key)
  }
})
