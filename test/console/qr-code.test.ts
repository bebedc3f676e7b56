import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encode } from 'uqr'
import { encodeQr } from '../../console/pages/keys/encode-qr.ts'

describe('the QR codes of the console', () => {
  test('are those of another encoder, square for square, in all 40 versions', () => {
    const sizes = new Set<number>()
    for (let bytes = 1; bytes <= 2_953; bytes += Math.max(14, Math.floor(bytes / 25))) {
      const text = 'otpauth://totp/Moorage:Schlüssel?secret=JBSW…'.repeat(70).slice(0, bytes)
      if (new TextEncoder().encode(text).length > 2_953) break
      const drawn = encodeQr(text)
      assert.deepEqual(drawn, encode(text, { ecc: 'L', border: 0, maskPattern: 0 }).data, `${bytes} characters`)
      sizes.add(drawn.length)
    }
    assert.equal(sizes.size, 40)
  })

  test('refuse a text for which there is no room', () => {
    assert.throws(() => encodeQr('x'.repeat(2_954)), /too long/)
  })
})
