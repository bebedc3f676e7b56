import { createHmac, createPublicKey, hash, verify as verifySignature } from 'node:crypto'
import { constantTimeEqual } from '../../security/digest.ts'
import type { Verification } from '../trigger.ts'

/** A request as it arrived. The signature covers its exact bytes. */
export type SignedRequest = {
  headers: Readonly<Record<string, string | string[] | undefined>>
  bytes: Buffer
  /** Epoch milliseconds. */
  now: number
}

/** Why a request is refused. */
export type VerifyRefusal = {
  code: 'secret_missing' | 'signature_missing' | 'signature_invalid' | 'too_old'
  reason: string
}

/**
 * `event` names the event as far as its signature says: a repeated request has the same. Undefined if only the payload
 * can name it.
 */
export type Proof = { refusal?: never; event: string | undefined } | { refusal: VerifyRefusal }

type Scheme<Name extends Verification['scheme']> = (
  request: SignedRequest,
  secret: string,
  settings: Extract<Verification, { scheme: Name }>,
) => Proof

/** A request can have several signatures while its secret is rotated. */
const MAX_SIGNATURES = 10

const refuse = (code: VerifyRefusal['code'], reason: string): Proof => ({ refusal: { code, reason } })

const missing = (header: string): Proof => refuse('signature_missing', `The header ${header} is missing.`)

const wrong = (): Proof => refuse('signature_invalid', "The signature doesn't match the body and the trigger's secret.")

function headerOf({ headers }: SignedRequest, name: string): string {
  const value = headers[name.toLowerCase()]
  return typeof value === 'string' ? value : ''
}

function digestOf(...parts: (string | Buffer)[]): string {
  return hash('sha256', Buffer.concat(parts.map((part) => Buffer.from(part))))
}

function hmac(algorithm: string, key: string | Buffer, ...parts: (string | Buffer)[]): Buffer {
  const made = createHmac(algorithm, key)
  for (const part of parts) made.update(part)
  return made.digest()
}

/** Compares in constant time with every signature that the request has. */
function matches(expected: string, given: readonly string[]): boolean {
  return given.slice(0, MAX_SIGNATURES).filter((one) => constantTimeEqual(expected, one)).length > 0
}

/** Refuses a request whose signed time is too far from now, in either direction. */
function ageProblem(timestamp: string, now: number, tolerance_seconds: number): Proof | undefined {
  if (!/^\d{1,13}$/.test(timestamp)) return refuse('signature_invalid', 'The signed timestamp is not a number.')
  // Some senders write milliseconds.
  const seconds = Number(timestamp) > 99_999_999_999 ? Number(timestamp) / 1000 : Number(timestamp)
  if (Math.abs(now / 1000 - seconds) <= tolerance_seconds) return undefined
  return refuse('too_old', `The signed timestamp is more than ${tolerance_seconds} seconds from now.`)
}

const github: Scheme<'github'> = (request, secret) => {
  const given = headerOf(request, 'x-hub-signature-256')
  if (given === '') return missing('X-Hub-Signature-256')
  const expected = `sha256=${hmac('sha256', secret, request.bytes).toString('hex')}`
  // The ID of the delivery is in a header, which the signature doesn't cover.
  return matches(expected, [given]) ? { event: digestOf(request.bytes) } : wrong()
}

const stripe: Scheme<'stripe'> = (request, secret, { tolerance_seconds }) => {
  const header = headerOf(request, 'stripe-signature')
  if (header === '') return missing('Stripe-Signature')
  const items = header.split(',').map((item) => item.trim())
  const timestamp = items.find((item) => item.startsWith('t='))?.slice(2) ?? ''
  const given = items.filter((item) => item.startsWith('v1=')).map((item) => item.slice(3))
  const expected = hmac('sha256', secret, `${timestamp}.`, request.bytes).toString('hex')
  if (!matches(expected, given)) return wrong()
  return ageProblem(timestamp, request.now, tolerance_seconds) ?? { event: digestOf(`${timestamp}.`, request.bytes) }
}

const slack: Scheme<'slack'> = (request, secret, { tolerance_seconds }) => {
  const given = headerOf(request, 'x-slack-signature')
  if (given === '') return missing('X-Slack-Signature')
  const timestamp = headerOf(request, 'x-slack-request-timestamp')
  const expected = `v0=${hmac('sha256', secret, `v0:${timestamp}:`, request.bytes).toString('hex')}`
  if (!matches(expected, [given])) return wrong()
  // Commands and buttons have no event ID in their body.
  return ageProblem(timestamp, request.now, tolerance_seconds) ?? { event: digestOf(`${timestamp}:`, request.bytes) }
}

/** Telegram sends the secret itself. */
const telegram: Scheme<'telegram'> = (request, secret) => {
  const given = headerOf(request, 'x-telegram-bot-api-secret-token')
  if (given === '') return missing('X-Telegram-Bot-Api-Secret-Token')
  return matches(secret, [given]) ? { event: undefined } : wrong()
}

/** Standard Webhooks. The key is the bytes that the secret encodes. */
const standard: Scheme<'standard'> = (request, secret, { tolerance_seconds }) => {
  const id = headerOf(request, 'webhook-id')
  const timestamp = headerOf(request, 'webhook-timestamp')
  const header = headerOf(request, 'webhook-signature')
  if (id === '' || timestamp === '' || header === '')
    return missing(id === '' ? 'webhook-id' : timestamp === '' ? 'webhook-timestamp' : 'webhook-signature')
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = `v1,${hmac('sha256', key, `${id}.${timestamp}.`, request.bytes).toString('base64')}`
  if (key.length === 0 || !matches(expected, header.split(' '))) return wrong()
  return ageProblem(timestamp, request.now, tolerance_seconds) ?? { event: digestOf('id ', id) }
}

const ownHmac: Scheme<'hmac'> = (request, secret, settings) => {
  const { header, algorithm, encoding, prefix, timestamp_header, tolerance_seconds } = settings
  const given = headerOf(request, header)
  if (given === '') return missing(header)
  const timestamp = timestamp_header === null ? undefined : headerOf(request, timestamp_header)
  if (timestamp_header !== null && timestamp === '') return missing(timestamp_header)
  const signed = timestamp === undefined ? '' : `${timestamp}.`
  const expected = prefix + hmac(algorithm, secret, signed, request.bytes).toString(encoding)
  if (!matches(expected, [encoding === 'hex' ? lowered(given, prefix) : given])) return wrong()
  const old = timestamp === undefined ? undefined : ageProblem(timestamp, request.now, tolerance_seconds)
  return old ?? { event: digestOf(signed, request.bytes) }
}

/** Hexadecimal digits can be in capitals. */
function lowered(given: string, prefix: string): string {
  return given.slice(0, prefix.length) + given.slice(prefix.length).toLowerCase()
}

/** The secret is the public key: its 32 bytes in hexadecimal or base64. */
const ed25519: Scheme<'ed25519'> = (request, secret, { header, encoding, timestamp_header, tolerance_seconds }) => {
  const given = headerOf(request, header)
  if (given === '') return missing(header)
  const timestamp = timestamp_header === null ? '' : headerOf(request, timestamp_header)
  if (timestamp_header !== null && timestamp === '') return missing(timestamp_header)
  const key = Buffer.from(secret, /^[0-9a-fA-F]{64}$/.test(secret) ? 'hex' : 'base64')
  if (key.length !== 32) return refuse('secret_missing', "The trigger's secret is not an Ed25519 public key.")
  const signed = Buffer.concat([Buffer.from(timestamp), request.bytes])
  const signature = Buffer.from(given, encoding)
  // Decoding ignores characters that don't belong there.
  const isExact = signature.toString(encoding) === (encoding === 'hex' ? given.toLowerCase() : given)
  if (!isExact || !isSignedBy(key, signed, signature)) return wrong()
  const old = timestamp_header === null ? undefined : ageProblem(timestamp, request.now, tolerance_seconds)
  return old ?? { event: digestOf(signed) }
}

function isSignedBy(key: Buffer, signed: Buffer, signature: Buffer): boolean {
  if (signature.length !== 64) return false
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.toString('base64url') }
    return verifySignature(null, signed, createPublicKey({ key: jwk, format: 'jwk' }), signature)
  } catch {
    return false
  }
}

const bearer: Scheme<'bearer'> = (request, secret) => {
  const given = /^Bearer +(\S+)$/i.exec(headerOf(request, 'authorization'))?.[1]
  if (given === undefined) return missing('Authorization: Bearer')
  return matches(secret, [given]) ? { event: namedByKey(request) } : wrong()
}

/** The secret is `user:password`, as it is written into a URL. */
const basic: Scheme<'basic'> = (request, secret) => {
  const given = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(headerOf(request, 'authorization'))?.[1]
  if (given === undefined) return missing('Authorization: Basic')
  return matches(secret, [Buffer.from(given, 'base64').toString('utf8')]) ? { event: namedByKey(request) } : wrong()
}

/** Without a signature, the sender can name the event. */
function namedByKey(request: SignedRequest): string | undefined {
  const key = headerOf(request, 'idempotency-key')
  return key === '' ? undefined : digestOf('key ', key)
}

const SCHEMES: { [Name in Exclude<Verification['scheme'], 'none'>]: Scheme<Name> } = {
  github,
  stripe,
  slack,
  telegram,
  standard,
  hmac: ownHmac,
  ed25519,
  bearer,
  basic,
}

/** Checks a request against the trigger's secret, whose value is undefined if it doesn't exist. */
export function verify(settings: Verification, secret: string | undefined, request: SignedRequest): Proof {
  if (settings.scheme === 'none') return { event: namedByKey(request) }
  if (!secret) return refuse('secret_missing', `The secret ${settings.secret} doesn't exist.`)
  const scheme = SCHEMES[settings.scheme] as Scheme<Verification['scheme']>
  return scheme(request, secret, settings)
}

/** Many clients only send a user name and a password when they are asked for them. */
export function challengeOf({ scheme }: Verification): string {
  if (scheme === 'basic') return 'Basic realm="trigger"'
  return scheme === 'bearer' ? 'Bearer' : 'Signature'
}
