import type { Parts } from '../operation/parts.ts'
import type { Database } from '../storage/database.ts'
import type { Storage } from '../storage/open-storage.ts'
import { type AuditEntry, hashOf } from './audit-entry.ts'
import * as audit from './store.ts'
import { findTail, isTrim, type Tail, trimEntry, WHOLE } from './trim.ts'

const BATCH_SIZE = 500

/** Links entries into the chain, a batch at a time. Returns how many. */
export async function sealEntries({ transaction }: Storage): Promise<number> {
  return transaction(async (db) => {
    const head = await audit.lockHead(db)
    const entries = await audit.listUnsealed(db, BATCH_SIZE)
    if (entries.length > 0) await link(db, head, entries)
    return entries.length
  })
}

/** The head must be locked. */
async function link(db: Database, head: audit.ChainEnd, entries: AuditEntry[]): Promise<void> {
  let { seq, hash: prev_hash } = head
  for (const entry of entries) {
    seq++
    const hash = hashOf(entry, { seq, prev_hash })
    await audit.seal(db, entry.id, { seq, prev_hash, hash })
    prev_hash = hash
  }
  await audit.updateHead(db, { seq, hash: prev_hash })
}

type ChainBreak = { ok: false; seq: number; problem: string }

/** `seq` of a broken chain is the first broken entry. */
export type Verdict = { ok: true; entries: number; head: audit.ChainEnd } | ChainBreak

/**
 * Computes the whole chain again. Anyone who can write to the database can also compute a new chain. Only a head that
 * was `pinned` elsewhere proves that the chain is the original.
 */
export async function verifyChain(
  { db, keyring }: Pick<Parts, 'keyring'> & { db: Database },
  pinned?: audit.ChainEnd,
): Promise<Verdict> {
  let tail: Tail = WHOLE
  let last: audit.ChainEnd = tail
  let entries = 0
  for (;;) {
    // The head is read before the entries. Entries linked in between are checked in the next round.
    const head = await audit.getHead(db)
    const batch = await audit.listSealed(db, last.seq, BATCH_SIZE)
    if (batch.length === 0) {
      const found = endBreak(last, head, pinned) ?? (await strayEntry(db, tail))
      return found ?? { ok: true, entries, head: last }
    }
    if (batch[0]?.seq !== last.seq + 1) {
      // The chain begins after the entries that retention removed. It may have removed more since the last look.
      tail = await findTail(db, keyring)
      const found = tailBreak(tail, last, pinned)
      if (found) return found
      if (tail.seq > last.seq) {
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
  }
}

/** What is wrong with the beginning of the chain, if everything between `last` and the tail was removed. */
function tailBreak(tail: Tail, last: audit.ChainEnd, pinned?: audit.ChainEnd): ChainBreak | undefined {
  if (tail.forged_at !== undefined) return broken(tail.forged_at, 'the entry was not written by retention')
  const isGone = pinned && pinned.seq > last.seq && pinned.seq <= tail.seq
  if (!isGone || (pinned.seq === tail.seq && pinned.hash === tail.hash)) return undefined
  return broken(pinned.seq, 'the pinned entry was removed by retention: pin a newer one')
}

/** What is wrong with the entry after `last`. Undefined if nothing is. */
function breakAt(entry: audit.SealedEntry, last: audit.ChainEnd, pinned?: audit.ChainEnd): ChainBreak | undefined {
  const { seq, prev_hash, hash } = entry
  if (seq !== last.seq + 1) return broken(last.seq + 1, 'the entry is missing')
  if (prev_hash !== last.hash) return broken(seq, 'the entry does not follow the one before it')
  if (hash !== hashOf(entry, entry)) return broken(seq, 'the entry was altered')
  if (pinned?.seq === seq && pinned.hash !== hash) return broken(seq, 'the entry is not the one that was pinned')
  return undefined
}

/** What is wrong with the end of the chain, if `last` is its last entry. */
function endBreak(last: audit.ChainEnd, head: audit.ChainEnd, pinned?: audit.ChainEnd): ChainBreak | undefined {
  if (last.seq < head.seq) return broken(last.seq + 1, 'the entry is missing')
  if (last.seq > head.seq) return broken(head.seq + 1, 'the entry comes after the end of the chain')
  if (last.hash !== head.hash) return broken(last.seq, 'the entry is not the end of the chain')
  if (pinned && pinned.seq > last.seq) return broken(last.seq + 1, 'the chain ends before the pinned entry')
  return undefined
}

/** The chain begins after the tail, so the service wrote no entry before it. */
async function strayEntry(db: Database, tail: audit.ChainEnd): Promise<ChainBreak | undefined> {
  const seq = await audit.findFirstSeq(db)
  return seq !== undefined && seq <= tail.seq
    ? broken(seq, 'the entry comes before the beginning of the chain')
    : undefined
}

/**
 * Removes entries from the beginning of the chain and appends an entry that says so. Only valid entries are removed:
 * otherwise someone who changes the times of entries could let retention remove them.
 */
export async function removeOldEntries(
  { keyring, log, newId, now, storage }: Pick<Parts, 'keyring' | 'log' | 'newId' | 'now' | 'storage'>,
  before: number,
  limit: number,
): Promise<number> {
  return storage.transaction(async (db) => {
    // Locked, so that two nodes do not move the tail at the same time.
    const head = await audit.lockHead(db)
    const tail = await findTail(db, keyring)
    const oldest = await audit.listSealed(db, tail.seq, limit + 1)
    const young = oldest.findIndex(({ created_at }) => created_at >= before)
    const removed = oldest.slice(0, Math.min(limit, young < 0 ? limit : young))
    const last = removed.at(-1)
    // Each removal adds an entry. If those are the only old ones, they stay until others are old too.
    if (!last || (removed.length < limit && removed.every(isTrim))) return 0
    const found = tailBreak(tail, tail) ?? firstBreak(oldest.slice(0, removed.length + 1), tail)
    if (found) {
      log.error(found, 'retention does not delete audit entries while the chain is broken')
      return 0
    }
    const entry = trimEntry({ seq: last.seq, hash: last.hash }, { keyring, newId, now })
    await audit.removeUpTo(db, last.seq)
    await audit.insert(db, entry)
    await link(db, head, [entry])
    return removed.length
  })
}

function firstBreak(entries: audit.SealedEntry[], before: audit.ChainEnd): ChainBreak | undefined {
  let last = before
  for (const entry of entries) {
    const found = breakAt(entry, last)
    if (found) return found
    last = entry
  }
  return undefined
}

function broken(seq: number, problem: string): ChainBreak {
  return { ok: false, seq, problem }
}
