/**
 * Where a follower of a log stands. Entries become visible when their transaction commits, not in the order of their ids,
 * so a position says which transactions it has read: all below `next` but those in `open`, which had not ended.
 * `read` is there when a page ended within a transaction: its entries up to `id` have been read.
 */
export type LogPosition = { next: number; open: readonly number[]; read?: LogKey | undefined }

/** An entry, and the transaction that stored it. */
export type LogKey = { transaction: number; id: number }

export const POSITION_TEXT = /^\d{1,16}(?:-\d{1,16}){0,500}(?:_\d{1,16}\.\d{1,16})?$/

export function writePosition({ next, open, read }: LogPosition): string {
  return [next, ...open].join('-') + (read ? `_${read.transaction}.${read.id}` : '')
}

/** `text` matches POSITION_TEXT. */
export function readPosition(text: string): LogPosition {
  const [transactions = '', read] = text.split('_')
  const [next = 0, ...open] = transactions.split('-').map(Number)
  const [transaction = 0, id = 0] = read?.split('.').map(Number) ?? []
  return { next, open, ...(read !== undefined && { read: { transaction, id } }) }
}

/** The position behind an entry, when what `end` shows after `from` has been read as far as this entry. */
export function positionBehind(entry: LogKey, from: LogPosition, end: LogPosition): LogPosition {
  const { transaction } = entry
  // The entry was late: it belongs to a transaction that was open before.
  if (transaction < from.next) {
    const open = from.open.filter((one) => one >= transaction || end.open.includes(one))
    return { next: from.next, open, read: entry }
  }
  return { next: transaction, open: end.open.filter((one) => one < transaction), read: entry }
}
