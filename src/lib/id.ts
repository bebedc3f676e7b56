import { randomFillSync } from 'node:crypto'

export type IdPrefix = 'agt' | 'dep' | 'req' | 'evt' | 'dlv' | 'whk' | 'key' | 'mem' | 'aud' | 'job'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const RANDOM_CHARACTERS = 16

/** Hands out `prefix_` + a ULID: ten characters of time, sixteen of randomness. Random bytes are drawn in bulk. */
export function idSource(fill: (buffer: Uint8Array) => void = randomFillSync) {
  const bytes = Buffer.alloc(RANDOM_CHARACTERS * 256)
  let pool = ''
  let used = bytes.length
  let lastTime = -1
  let lastTimePart = ''

  return (prefix: IdPrefix, time: number): string => {
    if (used === bytes.length) {
      fill(bytes)
      for (let i = 0; i < bytes.length; i++) bytes[i] = ALPHABET.charCodeAt((bytes[i] as number) & 31)
      pool = bytes.toString('latin1')
      used = 0
    }
    if (time !== lastTime) {
      lastTime = time
      lastTimePart = encodeTime(time)
    }
    const from = used
    used += RANDOM_CHARACTERS
    return `${prefix}_${lastTimePart}${pool.slice(from, used)}`
  }
}

/** No id of this kind that was made at or after `time` sorts before it. */
export function firstIdAt(prefix: IdPrefix, time: number): string {
  return `${prefix}_${encodeTime(Math.max(0, time))}`
}

export type NewId = ReturnType<typeof idSource>

function encodeTime(time: number): string {
  let text = ''
  let rest = time
  for (let i = 0; i < 10; i++) {
    text = ALPHABET[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}
