import { createHmac, timingSafeEqual } from 'node:crypto'

interface SignedParts {
  id: string
  /** Epoch seconds. */
  timestamp: number
  /** The bytes that are sent: serialised once, so every retry signs the same. */
  body: string | Uint8Array
}

const PREFIX = 'whsec_'
const TOLERANCE_SECONDS = 300

export function newWebhookSecret(randomBytes: (size: number) => Uint8Array): string {
  return PREFIX + Buffer.from(randomBytes(32)).toString('base64')
}

/**
 * The signature headers of one delivery; `secrets` are the newest first, then those still in their grace period.
 * `X-Service-Signature` is a single HMAC and has room for one secret only: the newest. `webhook-signature` carries one
 * signature per secret, so it is the header to check for a receiver that must verify with either during a rotation.
 */
export function signDelivery(delivery: SignedParts, secrets: readonly string[]) {
  const [newest] = secrets
  if (newest === undefined) throw new Error('a delivery needs at least one secret to be signed with')
  return {
    'X-Service-Signature': bodySignature(delivery.body, newest).toString('hex'),
    'webhook-id': delivery.id,
    'webhook-timestamp': String(delivery.timestamp),
    'webhook-signature': secrets
      .map((secret) => `v1,${standardSignature(delivery, secret).toString('base64')}`)
      .join(' '),
  }
}

/** Checks `X-Service-Signature`. It covers neither id nor time, so it cannot tell a replay. */
export function verifyBody(body: string | Uint8Array, signature: string, secrets: readonly string[]): boolean {
  return (
    /^[0-9a-f]{64}$/i.test(signature) &&
    matchesAny(
      [Buffer.from(signature, 'hex')],
      secrets.map((secret) => bodySignature(body, secret)),
    )
  )
}

interface ReceivedDelivery {
  'webhook-id': string
  'webhook-timestamp': string
  'webhook-signature': string
  body: string | Uint8Array
}

/** Checks the Standard Webhooks headers: any of the signatures under any of the secrets, not older than 5 minutes. */
export function verifyDelivery(received: ReceivedDelivery, secrets: readonly string[], now: () => number): boolean {
  if (!/^\d{1,12}$/.test(received['webhook-timestamp'])) return false
  const timestamp = Number(received['webhook-timestamp'])
  if (Math.abs(now() / 1000 - timestamp) > TOLERANCE_SECONDS) return false
  const delivery = { id: received['webhook-id'], timestamp, body: received.body }
  const given = received['webhook-signature'].split(' ').filter((signature) => signature.startsWith('v1,'))
  return matchesAny(
    given.map((signature) => Buffer.from(signature.slice(3), 'base64')),
    secrets.map((secret) => standardSignature(delivery, secret)),
  )
}

/** Keyed with the UTF-8 bytes of the whole secret, prefix included. */
function bodySignature(body: string | Uint8Array, secret: string): Buffer {
  return createHmac('sha256', secret).update(body).digest()
}

/** Keyed with the bytes that the secret encodes, as Standard Webhooks has it. */
function standardSignature({ id, timestamp, body }: SignedParts, secret: string): Buffer {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
}

/** Compares every pair to the end: the time taken tells nothing about which one matched. */
function matchesAny(given: readonly Buffer[], expected: readonly Buffer[]): boolean {
  const pairs = given.flatMap((a) => expected.map((b) => a.length === b.length && timingSafeEqual(a, b)))
  return pairs.includes(true)
}
