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
  /** The bytes that arrived, before they were parsed. */
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

/**
 * Returns the event, or throws a WebhookVerificationError: then answer 401 and do nothing else. It checks
 * `webhook-signature`, which covers the id and the time as well, so that an old delivery cannot be replayed. An event
 * may arrive more than once, so remember its id.
 */
export async function verifyWebhook(received: ReceivedWebhook): Promise<WebhookEvent> {
  const { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now } = received
  const id = header(received, 'webhook-id')
  const timestamp = header(received, 'webhook-timestamp')
  const signatures = header(received, 'webhook-signature')
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not a time')
  if (Math.abs(now() / 1000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError('webhook-timestamp is too far from now')
  }
  const body = typeof received.body === 'string' ? new TextEncoder().encode(received.body) : received.body
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body)
  const given = signatures.split(' ').filter((signature) => signature.startsWith('v1,'))
  const checks = [received.secret]
    .flat()
    .flatMap((secret) => given.map((signature) => matches(standardKey(secret), fromBase64(signature.slice(3)), signed)))
  if (!(await Promise.all(checks)).includes(true)) throw new WebhookVerificationError('no signature fits')
  return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent
}

/**
 * Checks `X-Service-Signature` alone: the hex HMAC-SHA256 of the body, with the whole secret as key. It covers neither
 * the id nor the time, so it cannot detect a replayed delivery.
 */
export function verifySignature(body: string | Uint8Array, signature: string, secret: string): Promise<boolean> {
  if (!/^[0-9a-f]{64}$/i.test(signature)) return Promise.resolve(false)
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  return matches(new TextEncoder().encode(secret), fromHex(signature), bytes)
}

/** WebCrypto compares in constant time. */
async function matches(key: Uint8Array, signature: Uint8Array | undefined, signed: Uint8Array): Promise<boolean> {
  if (!signature || key.length === 0) return false
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key.slice(), algorithm, false, ['verify'])
  return crypto.subtle.verify('HMAC', imported, signature.slice(), signed.slice())
}

function header({ headers }: ReceivedWebhook, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : ownHeader(headers, name)
  if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`the header ${name} is missing`)
  return value
}

function ownHeader(headers: Readonly<Record<string, string | string[] | undefined>>, name: string): unknown {
  return Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
}

function standardKey(secret: string): Uint8Array {
  return fromBase64(secret.replace(/^whsec_/, '')) ?? new Uint8Array()
}

function fromBase64(text: string): Uint8Array | undefined {
  try {
    return bytesOf(text)
  } catch {
    return undefined
  }
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
