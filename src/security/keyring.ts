import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

const VERSION = 'v1'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const DIGEST_BYTES = 12
/** The prefix of the 32 bytes of a private key in its standard encoding (RFC 8410). */
const X25519_PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex')

export type Keyring = {
  encrypt(plain: string, purpose: string): string
  decrypt(sealed: string, purpose: string): string
  /** A text that is the same for the same value and reveals nothing about it (96 bits). */
  digest(plain: string, purpose: string): string
  /** A private key (X25519) for this purpose. Its public half can be shared. */
  privateKey(purpose: string): KeyObject
}

/**
 * Encrypts and decrypts values. A sealed text is `v1.` + base64url(nonce, tag, ciphertext). The purpose selects the
 * subkey and is authenticated, so a value that was copied to another place can't be opened there.
 */
export function keyring(masterKey: Buffer): Keyring {
  requireKeyLength(masterKey)
  const subkeys = new Map<string, Buffer>()
  const subkey = (purpose: string) => {
    const known = subkeys.get(purpose) ?? derive(masterKey, `seal:${purpose}`, KEY_BYTES)
    subkeys.set(purpose, known)
    return known
  }

  return {
    encrypt(plain, purpose) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', subkey(purpose), nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(Buffer.from(`${VERSION}.${purpose}`))
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
      return `${VERSION}.${Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')}`
    },

    decrypt(sealed, purpose) {
      const { nonce, tag, body } = unpack(sealed, purpose)
      const decipher = createDecipheriv('aes-256-gcm', subkey(purpose), nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(`${VERSION}.${purpose}`)).setAuthTag(tag)
      try {
        return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
      } catch {
        throw new Error(`cannot decrypt a stored value (${purpose}): wrong master key, other purpose or changed data`)
      }
    },

    digest: (plain, purpose) =>
      createHmac('sha256', subkey(purpose)).update(plain).digest().subarray(0, DIGEST_BYTES).toString('base64url'),

    privateKey: (purpose) =>
      createPrivateKey({
        key: Buffer.concat([X25519_PKCS8, derive(masterKey, `agree:${purpose}`, KEY_BYTES)]),
        format: 'der',
        type: 'pkcs8',
      }),
  }
}

/**
 * Identifies the master key without revealing it. It is stored with the data, so a start with another key can be
 * refused.
 */
export function masterKeyFingerprint(masterKey: Buffer): string {
  requireKeyLength(masterKey)
  return derive(masterKey, 'fingerprint', 4).toString('hex')
}

/** A checksum that can only be made with the master key. */
export function keyedChecksum(masterKey: Buffer, purpose: string, text: string): string {
  requireKeyLength(masterKey)
  return createHmac('sha256', derive(masterKey, `checksum:${purpose}`, KEY_BYTES))
    .update(text)
    .digest('hex')
}

/**
 * Returns the configured key, or the key in the file `master.key` in the data directory. The first start creates that
 * file. Nodes that share a database must also share the key. The database contains the key's fingerprint, and the app
 * refuses another key.
 */
export function loadMasterKey(options: {
  masterKey?: string | undefined
  dataDir: string
  /** False if something is already encrypted. Then no new key is created. */
  isNew?: boolean
}): Buffer {
  if (options.masterKey !== undefined) return parseMasterKey(options.masterKey, 'the configured master key')
  const path = join(options.dataDir, 'master.key')
  const existing = readKeyFile(path)
  if (existing) return existing
  if (options.isNew === false) {
    throw new Error(
      `${path} is missing, and this database is encrypted with the key in it. Put the file back, or set MOORAGE_MASTER_KEY to that key`,
    )
  }
  createKeyFile(options.dataDir, path)
  const created = readKeyFile(path)
  if (!created) throw new Error(`${path} disappeared while it was being created`)
  return created
}

function parseMasterKey(text: string, origin: string): Buffer {
  const trimmed = text.trim()
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return Buffer.from(trimmed, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return Buffer.from(trimmed, 'base64')
  throw new Error(`${origin} must be 32 random bytes as base64 or hex, for example from \`openssl rand -base64 32\``)
}

function readKeyFile(path: string): Buffer | undefined {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  try {
    const mode = fstatSync(file).mode & 0o777
    if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
      throw new Error(
        `${path} has mode 0${mode.toString(8)}, so other users can read the master key. Run \`chmod 600 ${path}\`, and replace the key if anyone did read it`,
      )
    }
    return parseMasterKey(readFileSync(file, 'utf8'), path)
  } finally {
    closeSync(file)
  }
}

/**
 * Writes and syncs the key under another name and then links it. So a process that sees `master.key` sees all of it,
 * and the first process wins.
 */
function createKeyFile(dataDir: string, path: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    writeFileSync(draft, `${randomBytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600, flag: 'wx', flush: true })
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  syncDirectory(dataDir)
}

function syncDirectory(path: string): void {
  if (process.platform === 'win32') return
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

function unpack(sealed: string, purpose: string): { nonce: Buffer; tag: Buffer; body: Buffer } {
  const text = sealed.slice(VERSION.length + 1)
  const bytes = Buffer.from(text, 'base64url')
  const wellFormed = sealed.startsWith(`${VERSION}.`) && bytes.toString('base64url') === text
  if (!wellFormed || bytes.length < NONCE_BYTES + TAG_BYTES) {
    throw new Error(`cannot decrypt a stored value (${purpose}): it is not in the ${VERSION} format`)
  }
  return {
    nonce: bytes.subarray(0, NONCE_BYTES),
    tag: bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES),
    body: bytes.subarray(NONCE_BYTES + TAG_BYTES),
  }
}

function derive(masterKey: Buffer, info: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, 'moorage', info, length))
}

function requireKeyLength(masterKey: Buffer): void {
  if (masterKey.length !== KEY_BYTES) throw new Error(`the master key must have 32 bytes, not ${masterKey.length}`)
}
