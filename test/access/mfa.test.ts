import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import {
  attemptCode,
  codeAt,
  NEW_FACTOR_STATE,
  newFactor,
  stepAt,
  verifyCode,
} from '../../src/security/one-time-code.ts'

const { secret } = newFactor({ label: 'key_1', random: () => Buffer.alloc(20, 7) })
const now = 1_800_000_015_000
const step = stepAt(now)
const code = (offset = 0) => codeAt({ secret, step: step + offset })
const wrong = ['000000', '111111', '222222'].find((text) => ![-1, 0, 1].map(code).includes(text)) ?? '333333'

function verify(text: string, last_step: number | null = null) {
  return verifyCode({ secret, code: text, last_step, now })
}

function after(codes: string[], time = now, from = NEW_FACTOR_STATE) {
  return codes.reduce((state, text) => attemptCode({ secret, state, code: text, now: time }).state, from)
}

describe('codes', () => {
  test('RFC 6238, appendix B: SHA-1, eight digits', () => {
    const key = new Secret({ buffer: Uint8Array.from(Buffer.from('12345678901234567890')).buffer }).base32
    const vectors: [number, string][] = [
      [59, '94287082'],
      [1_111_111_109, '07081804'],
      [1_111_111_111, '14050471'],
      [1_234_567_890, '89005924'],
      [2_000_000_000, '69279037'],
      [20_000_000_000, '65353130'],
    ]
    for (const [time, expected] of vectors) {
      assert.equal(codeAt({ secret: key, step: stepAt(time * 1000), digits: 8 }), expected)
    }
  })

  test('a new factor is 160 random bits that an authenticator app can read', () => {
    const factor = newFactor({ label: 'key_1 & co', random: randomBytes })
    assert.equal(Secret.fromBase32(factor.secret).bytes.length, 20)
    assert.notEqual(factor.secret, newFactor({ label: 'key_1 & co', random: randomBytes }).secret)
    const uri = new URL(factor.uri)
    assert.equal(`${uri.protocol}//${uri.host}`, 'otpauth://totp')
    assert.equal(decodeURIComponent(uri.pathname), '/Moorage:key_1 & co')
    assert.deepEqual(Object.fromEntries(uri.searchParams), {
      issuer: 'Moorage',
      secret: factor.secret,
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    })
    const app = new TOTP({ secret: factor.secret })
    const typed = app.generate({ timestamp: now })
    assert.deepEqual(verifyCode({ secret: factor.secret, code: typed, last_step: null, now }), { ok: true, step })
  })

  test('random bytes out of a larger buffer are taken alone', () => {
    const pool = Buffer.alloc(100, 1)
    const factor = newFactor({ label: 'key_1', random: (bytes) => pool.subarray(40, 40 + bytes) })
    assert.deepEqual(Buffer.from(Secret.fromBase32(factor.secret).bytes), Buffer.alloc(20, 1))
  })
})

describe('verifyCode', () => {
  test('accepts the codes of this step and its neighbours only', () => {
    assert.deepEqual(verify(code(-1)), { ok: true, step: step - 1 })
    assert.deepEqual(verify(code()), { ok: true, step })
    assert.deepEqual(verify(code(1)), { ok: true, step: step + 1 })
    assert.deepEqual(verify(code(-2)), { ok: false, reason: 'wrong' })
    assert.deepEqual(verify(code(2)), { ok: false, reason: 'wrong' })
  })

  test('refuses a code twice, and the one before it', () => {
    assert.deepEqual(verify(code(), step), { ok: false, reason: 'reused' })
    assert.deepEqual(verify(code(-1), step), { ok: false, reason: 'reused' })
    assert.deepEqual(verify(code(1), step), { ok: true, step: step + 1 })
  })

  test('refuses anything that is not a code, and the code of another key', () => {
    const other = newFactor({ label: 'key_2', random: () => Buffer.alloc(20, 8) })
    const texts = ['', ' ', 'abcdef', code().slice(1), `${code()}0`, ` ${code()}`, `${code()}\n`, '9'.repeat(50_000)]
    for (const text of [...texts, codeAt({ secret: other.secret, step }), wrong]) {
      assert.deepEqual(verify(text), { ok: false, reason: 'wrong' }, JSON.stringify(text.slice(0, 20)))
    }
  })

  test('works at the beginning of time', () => {
    const first = codeAt({ secret, step: 0 })
    assert.deepEqual(verifyCode({ secret, code: first, last_step: null, now: 0 }), { ok: true, step: 0 })
  })
})

describe('attemptCode', () => {
  test('keeps the step of an accepted code, and forgets the wrong ones before it', () => {
    const attempt = attemptCode({ secret, state: after([wrong, wrong, wrong, wrong]), code: code(), now })
    assert.deepEqual(attempt, {
      result: { ok: true, step },
      state: { last_step: step, wrong_codes: 0, locked_until: null },
    })
  })

  test('five wrong codes lock for five minutes; the right one is refused meanwhile', () => {
    const locked = after([wrong, wrong, wrong, wrong, wrong])
    assert.deepEqual(locked, { last_step: null, wrong_codes: 5, locked_until: now + 300_000 })
    assert.deepEqual(attemptCode({ secret, state: locked, code: code(), now: now + 1000 }), {
      result: { ok: false, reason: 'locked', retry_after_ms: 299_000 },
      state: locked,
    })
  })

  test('tries while locked do not prolong the lock', () => {
    const locked = after([wrong, wrong, wrong, wrong, wrong])
    assert.deepEqual(after([wrong, wrong], now + 200_000, locked), locked)
  })

  test('when the lock ends, wrong codes are counted from zero again', () => {
    const locked = after([wrong, wrong, wrong, wrong, wrong])
    const later = now + 300_000
    const right = codeAt({ secret, step: stepAt(later) })
    assert.equal(attemptCode({ secret, state: locked, code: right, now: later }).result.ok, true)
    assert.deepEqual(after(['x'], later, locked), { last_step: null, wrong_codes: 1, locked_until: null })
    assert.equal(after(['x', 'x', 'x', 'x', 'x'], later, locked).locked_until, later + 300_000)
  })

  test('a reused code is refused without counting as a guess', () => {
    const used = after([code()])
    const again = attemptCode({ secret, state: used, code: code(), now })
    assert.deepEqual(again, { result: { ok: false, reason: 'reused' }, state: used })
  })
})
