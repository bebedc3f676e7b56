import type { Database } from '../storage/database.ts'
import type { Storage } from '../storage/open-storage.ts'
import { hashOf } from './audit-entry.ts'
import * as audit from './store.ts'

const BATCH_SIZE = 500
/** The end of the chain before the first entry, and before those that retention removed. */
const NOWHERE: audit.ChainEnd = { seq: -1, hash: '' }

/** Links entries into the chain, a batch at a time. Returns how many. */
export async function sealEntries({ transaction }: Storage): Promise<number> {
  return transaction(async (db) => {
    let { seq, hash: prev_hash } = await audit.lockHead(db)
    const entries = await audit.listUnsealed(db, BATCH_SIZE)
    for (const entry of entries) {
      seq++
      const hash = hashOf(entry, { seq, prev_hash })
      await audit.seal(db, entry.id, { seq, prev_hash, hash })
      prev_hash = hash
    }
    if (entries.length > 0) await audit.updateEnd(db, 'head', { seq, hash: prev_hash })
    return entries.length
  })
}

export type Verdict =
  | { ok: true; entries: number; head: audit.ChainEnd }
  /** `seq` is the first entry at which the chain is broken. */
  | { ok: false; seq: number; problem: string }

/**
 * Computes the whole chain again. Who can write to the database can compute a new chain too. Only a head that was
 * `pinned` elsewhere proves that the chain is the first one.
 */
export async function verifyChain(db: Database, pinned?: audit.ChainEnd): Promise<Verdict> {
  const head = await audit.getEnd(db, 'head')
  let last = NOWHERE
  let entries = 0
  for (;;) {
    const batch = await audit.listSealed(db, last.seq, BATCH_SIZE)
    if (batch[0]?.seq !== last.seq + 1) {
      // The chain begins after the entries that retention removed. It may have removed more since the last look.
      const tail = await audit.getEnd(db, 'tail')
      if (tail.seq > last.seq) {
        const isPinnedGone = pinned && pinned.seq > last.seq && pinned.seq <= tail.seq && !isSame(pinned, tail)
        if (isPinnedGone) return broken(pinned.seq, 'the pinned entry was removed by retention: pin a newer one')
        last = tail
        continue
      }
    }
    for (const entry of batch) {
      const found = breakAt(entry, last, pinned)
      if (found) return found
      last = { seq: entry.seq, hash: entry.hash }
      entries++
    }
    if (batch.length < BATCH_SIZE) break
  }
  // Entries that were linked during this check come after the head that was read first.
  if (last.seq < head.seq) return broken(last.seq + 1, 'the entry is missing')
  if (pinned && pinned.seq > last.seq) return broken(last.seq + 1, 'the chain ends before the pinned entry')
  return { ok: true, entries, head: last }
}

/** What is wrong with the entry that comes after `last`. Undefined if nothing is. */
function breakAt(entry: audit.SealedEntry, last: audit.ChainEnd, pinned?: audit.ChainEnd): Verdict | undefined {
  const { seq, prev_hash, hash } = entry
  if (seq !== last.seq + 1) return broken(last.seq + 1, 'the entry is missing')
  if (prev_hash !== last.hash) return broken(seq, 'the entry does not follow the one before it')
  if (hash !== hashOf(entry, entry)) return broken(seq, 'the entry was altered')
  if (pinned?.seq === seq && pinned.hash !== hash) return broken(seq, 'the entry is not the one that was pinned')
  return undefined
}

/** Removes entries from the beginning of the chain. The rest can still be verified, from the last removed entry on. */
export async function removeOldEntries(database: Database, before: number, limit: number): Promise<number> {
  return database.transaction().execute(async (db) => {
    // Locked, so that two nodes do not move the tail at the same time.
    await audit.lockHead(db)
    const tail = await audit.getEnd(db, 'tail')
    const oldest = await audit.listSealed(db, tail.seq, limit)
    const young = oldest.findIndex(({ created_at }) => created_at >= before)
    const removed = young < 0 ? oldest : oldest.slice(0, young)
    const last = removed.at(-1)
    if (!last) return 0
    await audit.removeUpTo(db, last.seq)
    await audit.updateEnd(db, 'tail', { seq: last.seq, hash: last.hash })
    return removed.length
  })
}

function isSame(one: audit.ChainEnd, other: audit.ChainEnd): boolean {
  return one.seq === other.seq && one.hash === other.hash
}

function broken(seq: number, problem: string): Verdict {
  return { ok: false, seq, problem }
}
