import { bytesOf } from './base64.ts'

/** An event as a webhook receives it. */
export type WebhookEvent = {
  id: string
  type: string
  timestamp: string
  agent_id: string | null
  data: Record<string, unknown>
}

export type ReceivedWebhook = {
  /** The bytes as they arrived, before parsing. */
  body: string | Uint8Array
  headers: Headers | Readonly<Record<string, string | string[] | undefined>>
  /** The webhook's secret (`whsec_…`), or several during a rotation. */
  secret: string | readonly string[]
  toleranceSeconds?: number
  now?: () => number
}

export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
}

const TOLERANCE_SECONDS = 300

/** Bytes in the type that WebCrypto accepts. */
type Bytes = Uint8Array<ArrayBuffer>

/**
 * Returns the event, or throws a WebhookVerificationError: then return 401 and do nothing else. It checks
 * `webhook-signature`, which includes the ID and the time, so an old delivery can't be replayed. An event
 * can arrive more than once, so remember its ID.
 */
export async function verifyWebhook(received: ReceivedWebhook): Promise<WebhookEvent> {
  const { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now } = received
  const id = header(received, 'webhook-id')
  const timestamp = header(received, 'webhook-timestamp')
  const signatures = header(received, 'webhook-signature')
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not a time')
  if (Math.abs(now() / 1000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError('webhook-timestamp is too far from the current time')
  }
  const body = typeof received.body === 'string' ? new TextEncoder().encode(received.body) : received.body
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body)
  const given = signatures.split(' ').flatMap((one) => (one.startsWith('v1,') ? (fromBase64(one.slice(3)) ?? []) : []))
  // The body is hashed once for each of our secrets, no matter how many signatures a stranger sends.
  for (const secret of [received.secret].flat()) {
    const right = await hmac(standardKey(secret), signed)
    if (given.some((signature) => isSame(signature, right))) {
      return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent
    }
  }
  throw new WebhookVerificationError('no signature matches')
}

/**
 * Checks only `X-Service-Signature`: the hex HMAC-SHA256 of the body, with the whole secret as key. It includes neither
 * the ID nor the time, so it can't detect a replayed delivery.
 */
export async function verifySignature(body: string | Uint8Array, signature: string, secret: string): Promise<boolean> {
  if (!/^[0-9a-f]{64}$/i.test(signature)) return false
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  return isSame(fromHex(signature), await hmac(new TextEncoder().encode(secret), bytes.slice()))
}

/** Undefined without a key, so no signature matches. */
async function hmac(key: Bytes, signed: Bytes): Promise<Bytes | undefined> {
  if (key.length === 0) return undefined
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, signed))
}

/** Compares in the same time no matter where the first difference is. */
function isSame(given: Bytes, right: Bytes | undefined): boolean {
  if (given.length !== right?.length) return false
  return right.reduce((difference, byte, i) => difference | (byte ^ (given[i] ?? 0)), 0) === 0
}

function header({ headers }: ReceivedWebhook, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : ownHeader(headers, name)
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`the header ${name} is missing`)
  return value
}

function ownHeader(headers: Readonly<Record<string, string | string[] | undefined>>, name: string): unknown {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
}

function standardKey(secret: string): Bytes {
  return fromBase64(secret.replace(/^whsec_/, '')) ?? new Uint8Array()
}

function fromBase64(text: string): Bytes | undefined {
  try {
    return bytesOf(text)
  } catch {
    return undefined
  }
}

function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

function concat(a: Uint8Array, b: Uint8Array): Bytes {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
