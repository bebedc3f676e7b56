import { randomFillSync } from 'node:crypto'

export type IdPrefix =
  | 'agt'
  | 'prj'
  | 'dep'
  | 'req'
  | 'evt'
  | 'dlv'
  | 'whk'
  | 'key'
  | 'mem'
  | 'aud'
  | 'job'
  | 'lsn'
  | 'cns'
  | 'sch'
  | 'lnk'
  | 'apr'
  | 'fbk'
  | 'set'
  | 'rpl'
  | 'cas'
  | 'prs'
  | 'rol'
  | 'inv'
  | 'led'
  | 'bud'
  | 'file'
  | 'blob'
  | 'trg'
  | 'inc'
  | 'ans'
  | 'con'
  | 'grt'
  | 'app'
  | 'lnk'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARACTERS = 10
const RANDOM_CHARACTERS = 13
/**
 * The largest number with three characters. After this many IDs in one millisecond, further IDs no longer sort in
 * order.
 */
const MAX_SERIAL = 32 ** 3 - 1

/**
 * Makes IDs: `prefix_` and a ULID, which consists of ten characters for the time, three for a counter within the
 * millisecond, and thirteen random ones. So IDs sort in the order in which they were made. Random bytes are generated
 * in bulk.
 */
export function idSource(fill: (buffer: Uint8Array) => void = randomFillSync) {
  const bytes = Buffer.alloc(RANDOM_CHARACTERS * 256)
  let pool = ''
  let used = bytes.length
  let lastTime = -1
  let lastTimePart = ''
  let latest = -1
  let serial = 0

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
    // If the clock was set back, only the counter continues, so that IDs stay in order.
    serial = time > latest ? 0 : Math.min(serial + 1, MAX_SERIAL)
    if (time > latest) latest = time
    const from = used
    used += RANDOM_CHARACTERS
    const serialPart = `${ALPHABET[serial >> 10]}${ALPHABET[(serial >> 5) & 31]}${ALPHABET[serial & 31]}`
    return `${prefix}_${lastTimePart}${serialPart}${pool.slice(from, used)}`
  }
}

/** The smallest ID of this kind that can be made at or after `time`. */
export function firstIdAt(prefix: IdPrefix, time: number): string {
  return `${prefix}_${encodeTime(Math.max(0, time))}`
}

/** The time at which an ID was made. */
export function timeOf(id: string): number {
  const start = id.indexOf('_') + 1
  let time = 0
  for (let i = start; i < start + TIME_CHARACTERS; i++) time = time * 32 + ALPHABET.indexOf(id.charAt(i))
  return time
}

export type NewId = ReturnType<typeof idSource>

function encodeTime(time: number): string {
  let text = ''
  let rest = time
  for (let i = 0; i < TIME_CHARACTERS; i++) {
    text = ALPHABET[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  return text
}
