import { createHmac } from 'node:crypto'

interface SignedParts {
  id: string
  /** Epoch seconds. */
  timestamp: number
  /** The exact bytes that are sent. They are serialized only once, so every retry signs the same bytes. */
  body: string | Uint8Array
}

const PREFIX = 'whsec_'

export function newWebhookSecret(randomBytes: (size: number) => Uint8Array): string {
  return PREFIX + Buffer.from(randomBytes(32)).toString('base64')
}

/**
 * The signature headers of one delivery. `secrets` contains the newest secret first, then those in their grace period.
 * `X-Service-Signature` is a single HMAC with the newest secret. `webhook-signature` contains one signature per secret.
 * A receiver that must accept both secrets during a rotation should check that header.
 */
export function signDelivery(delivery: SignedParts, secrets: readonly string[]) {
  const [newest] = secrets
  if (newest === undefined) throw new Error('signing a delivery requires at least one secret')
  return {
    'X-Service-Signature': bodySignature(delivery.body, newest).toString('hex'),
    'webhook-id': delivery.id,
    'webhook-timestamp': String(delivery.timestamp),
    'webhook-signature': secrets
      .map((secret) => `v1,${standardSignature(delivery, secret).toString('base64')}`)
      .join(' '),
  }
}

/** The key consists of the UTF-8 bytes of the whole secret, including its prefix. */
function bodySignature(body: string | Uint8Array, secret: string): Buffer {
  return createHmac('sha256', secret).update(body).digest()
}

/** The key consists of the bytes that the secret encodes, as Standard Webhooks defines it. */
function standardSignature({ id, timestamp, body }: SignedParts, secret: string): Buffer {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
}
