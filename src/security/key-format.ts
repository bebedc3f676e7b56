import { crc32 } from 'node:zlib'

const PREFIX = 'mrg_'
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_BYTES = 32
const RANDOM_CHARACTERS = 43
const CHECKSUM_CHARACTERS = 6
const FORM = /^mrg_[0-9A-Za-z]{49}$/

/** A new API key: prefix, 256 random bits, checksum. */
export function newKey(random: (size: number) => Uint8Array): string {
  const bits = BigInt(`0x${Buffer.from(random(RANDOM_BYTES)).toString('hex')}`)
  const body = PREFIX + base62(bits)
  return body + checksum(body)
}

/** Detects a mistyped or truncated key without asking the store. It doesn't say whether the key exists. */
export function isWellFormedKey(text: string): boolean {
  return FORM.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_CHARACTERS)))
}

/** Uses plain numbers because it is computed for every request. */
function checksum(body: string): string {
  let text = ''
  for (let rest = crc32(body); rest > 0; rest = Math.floor(rest / 62)) text = ALPHABET.charAt(rest % 62) + text
  return text.padStart(CHECKSUM_CHARACTERS, '0')
}

function base62(value: bigint): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = ALPHABET.charAt(Number(rest % 62n)) + text
  return text.padStart(RANDOM_CHARACTERS, '0')
}
