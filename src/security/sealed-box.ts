import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import type { Keyring } from './keyring.ts'

const PREFIX = 'moorage-recipient-'
const KEY_BYTES = 32
const CHECK_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** The prefix of the 32 bytes of a public key in its standard encoding (RFC 8410). */
const X25519_SPKI = Buffer.from('302a300506032b656e032100', 'hex')

/** What the sealed values in a file have in common: the recipient, and the sender's half of the agreed key. */
export type Envelope = { recipient: string; sender: string }

/** Seals a text for a place, so it can't be opened as the text of another place. */
export type SealText = (plain: string, place: string) => string

/** The name under which others can seal secrets for the service with this master key. It isn't secret. */
export function recipientOf(keyring: Keyring): string {
  return nameOf(rawOf(createPublicKey(keyring.privateKey(PURPOSE))))
}

/** Whether the text is the name of a recipient without a typing error. */
export function isRecipient(name: string): boolean {
  return readRecipient(name) !== undefined
}

/** Agrees on a new key for each call, so two files have nothing in common. */
export function sealFor(recipient: string): { envelope: Envelope; seal: SealText } {
  const theirs = readRecipient(recipient)
  if (!theirs) throw new Error(`${recipient} is not a recipient`)
  const own = generateKeyPairSync('x25519')
  const envelope = { recipient, sender: rawOf(own.publicKey).toString('base64url') }
  const key = agree(own.privateKey, theirs, envelope)
  return {
    envelope,
    seal(plain, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(Buffer.from(place))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    },
  }
}

/** Opens what was sealed for this service. Throws if it was changed, or sealed for another place or recipient. */
export function openSealed(keyring: Keyring, envelope: Envelope): SealText {
  const raw = Buffer.from(envelope.sender, 'base64url')
  if (raw.length !== KEY_BYTES) throw new Error('the sealed values are damaged')
  const key = agree(keyring.privateKey(PURPOSE), publicKey(raw), envelope)
  return (sealed, place) => {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error(`the sealed value of ${place} is damaged`)
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    try {
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString(
        'utf8',
      )
    } catch {
      throw new Error(`the sealed value of ${place} was changed, or was sealed for another service`)
    }
  }
}

const PURPOSE = 'transfer'

function agree(own: KeyObject, theirs: KeyObject, { recipient, sender }: Envelope): Buffer {
  const shared = diffieHellman({ privateKey: own, publicKey: theirs })
  return Buffer.from(hkdfSync('sha256', shared, `${recipient} ${sender}`, 'moorage transfer', KEY_BYTES))
}

function publicKey(raw: Buffer): KeyObject {
  return createPublicKey({ key: Buffer.concat([X25519_SPKI, raw]), format: 'der', type: 'spki' })
}

function rawOf(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' }).subarray(X25519_SPKI.length)
}

function nameOf(raw: Buffer): string {
  return PREFIX + Buffer.concat([raw, checkOf(raw)]).toString('base64url')
}

function readRecipient(name: string): KeyObject | undefined {
  const bytes = Buffer.from(name.slice(PREFIX.length), 'base64url')
  const raw = bytes.subarray(0, KEY_BYTES)
  return bytes.length === KEY_BYTES + CHECK_BYTES && nameOf(raw) === name ? publicKey(raw) : undefined
}

function checkOf(raw: Buffer): Buffer {
  return hash('sha256', raw, 'buffer').subarray(0, CHECK_BYTES)
}
