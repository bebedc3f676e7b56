import { type Database, engineOf } from '../storage/database.ts'
import type { Write } from '../storage/journal/rows.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import { hasLapsed } from '../storage/leases/lease.ts'
import type { LedgerLine } from './ledger-line.ts'
import type { EndedLine } from './reservation.ts'
import { endedValues, LEASED_LINES, LEDGER, lineWrites, unsumWrites } from './store.ts'

/**
 * Writes ended lines outside of any entry. They may already be written, if a commit with an unknown outcome succeeded.
 * A line given up as lost is corrected.
 */
export async function writeLate(db: Database, ended: readonly EndedLine[]): Promise<void> {
  const ids = ended.map(({ line }) => line.id)
  let select = db.selectFrom('ledger').selectAll().where('id', 'in', ids).orderBy('id')
  if (engineOf(db) === 'postgres') select = select.forUpdate()
  const found = new Map((await select.execute()).map((row) => [row.id, row as LedgerLine]))
  const writes: Write[] = []
  for (const one of ended) {
    const { line, held } = one
    const known = found.get(line.id)
    if (known && known.status !== 'reserved' && known.status !== 'lost') continue
    writes.push(...lineWrites(one))
    if (held?.owner === undefined) continue
    if (known?.status === 'lost') writes.push(...unsumWrites(known), ...held.found())
    await db.updateTable('ledger').set(endedValues(line)).where('id', '=', line.id).execute()
  }
  await writeRows(db, writes)
}

/** A line whose call may begin now, with the most tokens and the highest cost that the call may use. */
export type ReservedLine = LedgerLine & { status: 'reserved'; charges: string; owner: string; lease_until: number }

export function reservedWrite(line: ReservedLine): Write {
  return { into: LEDGER, row: line }
}

/** Removes lines whose calls were not made: reserved ones, and those that another node has since given up. */
export async function removeUncalled(db: Database, ids: readonly string[]): Promise<LedgerLine[]> {
  const uncalled = db.deleteFrom('ledger').where('id', 'in', ids).where('status', 'in', ['reserved', 'lost'])
  return (await uncalled.returningAll().execute()) as LedgerLine[]
}

/** Whether the run has called its model before. */
export async function hasCalled(db: Database, request_id: string): Promise<boolean> {
  const ofRun = db.selectFrom('ledger').select('id').where('request_id', '=', request_id).where('purpose', '=', 'run')
  const found = await ofRun.limit(1).execute()
  return found.length > 0
}

/**
 * Gives up at most `limit` lines that their nodes no longer renew. It is unknown whether their calls were answered, so
 * everything that they reserved is counted as used. `except` are the IDs of this node's own calls in progress. The
 * caller adds the lines to the sums in the same write, because nodes must lock shared rows in one order.
 */
export async function takeLapsed(
  db: Database,
  { now, limit, except }: { now: number; limit: number; except: ReadonlySet<string> },
): Promise<{ line: LedgerLine; charges: string | null }[]> {
  let select = db.selectFrom('ledger').selectAll().where(hasLapsed(LEASED_LINES, now)).orderBy('id').limit(limit)
  if (engineOf(db) === 'postgres') select = select.forUpdate().skipLocked()
  const lapsed = (await select.execute()).filter(({ id }) => !except.has(id))
  if (lapsed.length === 0) return []
  const ids = lapsed.map(({ id }) => id)
  const given_up = { status: 'lost' as const, charges: null, owner: null, lease_until: null }
  await db.updateTable('ledger').set(given_up).where('id', 'in', ids).execute()
  return lapsed.map((row) => ({ line: { ...(row as LedgerLine), ...given_up }, charges: row.charges }))
}
