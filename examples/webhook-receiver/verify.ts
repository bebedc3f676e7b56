import { createHmac, timingSafeEqual } from 'node:crypto'

const TOLERANCE_SECONDS = 300

type Headers = Record<string, string | string[] | undefined>

/**
 * Whether Moorage sent this, recently, with one of these secrets. `body` must be the raw bytes of the request: parsed
 * and written out again, it has another signature. During a rotation pass the new and the old secret.
 */
export function isGenuine(headers: Headers, body: Uint8Array, secrets: string[], now = Date.now()): boolean {
  const id = String(headers['webhook-id'] ?? '')
  const timestamp = String(headers['webhook-timestamp'] ?? '')
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false

  const expected = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
  })
  const given = String(headers['webhook-signature'] ?? '')
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => Buffer.from(signature.slice(3), 'base64'))
  return matchesAny(given, expected)
}

/** The plain header alone. It covers neither id nor time, so it cannot tell a replay: prefer `isGenuine`. */
export function isSigned(signature: string, body: Uint8Array, secrets: string[]): boolean {
  const expected = secrets.map((secret) => createHmac('sha256', secret).update(body).digest())
  return /^[0-9a-f]{64}$/i.test(signature) && matchesAny([Buffer.from(signature, 'hex')], expected)
}

/** In constant time: how long it takes tells nothing about where two signatures differ. */
function matchesAny(given: Buffer[], expected: Buffer[]): boolean {
  const pairs = given.flatMap((a) => expected.map((b) => a.length === b.length && timingSafeEqual(a, b)))
  return pairs.includes(true)
}
