import { createHmac } from 'node:crypto'

interface SignedParts {
  id: string
  /** Epoch seconds. */
  timestamp: number
  /** The bytes that are sent: serialised once, so every retry signs the same. */
  body: string | Uint8Array
}

const PREFIX = 'whsec_'

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

/** Keyed with the UTF-8 bytes of the whole secret, prefix included. */
function bodySignature(body: string | Uint8Array, secret: string): Buffer {
  return createHmac('sha256', secret).update(body).digest()
}

/** Keyed with the bytes that the secret encodes, as Standard Webhooks has it. */
function standardSignature({ id, timestamp, body }: SignedParts, secret: string): Buffer {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
}
