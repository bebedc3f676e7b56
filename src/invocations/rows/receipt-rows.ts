import { sql } from 'kysely'
import type { Needs } from '../../operation/context.ts'
import { readable } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import { firstFitting } from '../../storage/queries/first-fitting.ts'
import { textBytes } from '../../storage/queries/text-bytes.ts'
import type { Invocation } from '../invocation.ts'
import { fromRow, RECEIPT } from './invocation-rows.ts'

/** How many bytes of receipts one read loads. Other requests are served between two reads. */
const BYTES_AT_ONCE = 1024 * 1024

/**
 * A page ends at this many bytes of receipts, because a reply is written as a whole. A hundred ordinary receipts fit,
 * for clients that expect full pages.
 */
const PAGE_BYTES = 8 * BYTES_AT_ONCE

/** An invocation's ID, and how many bytes of it are shown and stored. */
export type ReceiptKey = { id: string; shown: number; stored: number }

export const RECEIPT_KEY = [
  sql<string>`all_invocations.id`.as('id'),
  textBytes('all_invocations', ['message', 'context', 'response', 'steps']).as('shown'),
  textBytes('all_invocations', ['message', 'context', 'response', 'steps', 'rounds']).as('stored'),
]

/**
 * The receipts of the first keys, as many as one page can contain, and at least one. Calls `reserve` with their size.
 */
export async function listPageOfReceipts(
  { db, reserve }: Needs<'db' | 'reserve'>,
  keys: readonly ReceiptKey[],
): Promise<Invocation[]> {
  const page = firstFitting(keys, ({ shown }) => shown, PAGE_BYTES)
  await reserve(page.reduce((bytes, { shown }) => bytes + shown, 0))
  const receipts: Invocation[] = []
  for (let left = page; left.length > 0; ) {
    receipts.push(...readable(db, await listNextRows(db, left), receiptOf))
    left = left.slice(firstFitting(left, ({ stored }) => stored, BYTES_AT_ONCE).length)
  }
  return receipts
}

/**
 * The receipts of the first keys, as many as one read loads, and at least one. `given` is left out, and `rounds`
 * contains only the last one, which has the calls left to the caller.
 */
export async function listNextReceipts(db: Database, keys: readonly ReceiptKey[]): Promise<Invocation[]> {
  return (await listNextRows(db, keys)).map(receiptOf)
}

async function listNextRows(db: Database, keys: readonly ReceiptKey[]) {
  const ids = firstFitting(keys, ({ stored }) => stored, BYTES_AT_ONCE).map(({ id }) => id)
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('all_invocations')
    .select([...RECEIPT, 'rounds'])
    .where('id', 'in', ids)
    .execute()
  const found = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => found.get(id) ?? [])
}

function receiptOf(row: Awaited<ReturnType<typeof listNextRows>>[number]): Invocation {
  const { rounds, ...receipt } = fromRow({ ...row, given: null })
  return { ...receipt, rounds: rounds && rounds.slice(-1) }
}
