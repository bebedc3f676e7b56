import { invalid } from '../errors.ts'
import type { Keyring } from '../security/keyring.ts'

/**
 * A follower's position in a log. Entries become visible when their transaction commits, not in the order of their IDs,
 * so a position says which transactions it has read: all below `next` except those in `open`, which hadn't ended.
 * `read` is present if a page ended within a transaction: its entries up to `id` have been read.
 */
export type LogPosition = { next: number; open: readonly number[]; read?: LogKey | undefined }

/** An entry, and the transaction that stored it. */
export type LogKey = { transaction: number; id: number }

const PURPOSE = 'log position'

/** Encrypted, because its numbers would reveal how much is stored for others. */
export function writePosition(position: LogPosition, keyring: Keyring): string {
  return keyring.encrypt(JSON.stringify(position), PURPOSE)
}

export function readPosition(text: string, keyring: Keyring): LogPosition {
  try {
    return JSON.parse(keyring.decrypt(text, PURPOSE))
  } catch {
    throw invalid({ field: 'after', error: 'must be `latest`, or next_after from an earlier reply' })
  }
}

/** The position behind an entry, when what `end` shows after `from` has been read as far as this entry. */
export function positionBehind({ transaction, id }: LogKey, from: LogPosition, end: LogPosition): LogPosition {
  // The entry itself may be long, and a position is a part of a URL.
  const read = { transaction, id }
  // The entry was late: it belongs to a transaction that was open before.
  if (transaction < from.next) {
    const open = from.open.filter((one) => one >= transaction || end.open.includes(one))
    return { next: from.next, open, read }
  }
  return { next: transaction, open: end.open.filter((one) => one < transaction), read }
}
