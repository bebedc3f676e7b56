import type { Parts } from '../operation/parts.ts'
import type { Keyring } from '../security/keyring.ts'
import type { Database } from '../storage/database.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import { GENESIS } from '../storage/tables/security-tables.ts'
import type { AuditEntry } from './audit-entry.ts'
import * as audit from './store.ts'

const ACTION = 'trimAuditLog'
const PURPOSE = 'audit tail'

/** The tail of a chain from which nothing was removed. */
export const WHOLE: Tail = { seq: 0, hash: GENESIS }

/** `forged_at` is the entry that records a removal, if this service didn't write it. */
export type Tail = audit.ChainEnd & { forged_at?: number }

/**
 * The entry in which retention records how far it removed entries. Its target is `SEQ:HASH:PROOF`. The proof requires
 * the master key, so someone who can only write to the database can't make one.
 */
export function trimEntry(
  tail: audit.ChainEnd,
  { keyring, newId, now }: Pick<Parts, 'keyring' | 'newId' | 'now'>,
): AuditEntry {
  const time = now()
  return {
    id: newId('aud', time),
    created_at: time,
    actor_kind: 'local',
    actor: 'local',
    key_id: null,
    action: ACTION,
    project_id: DEFAULT_PROJECT,
    agent_id: null,
    target: targetOf(tail, keyring),
    outcome: 'success',
    code: null,
    fields: [],
    times: 1,
    request_id: newId('req', time),
    address: null,
  }
}

export function isTrim({ action }: Pick<AuditEntry, 'action'>): boolean {
  return action === ACTION
}

/** The last entry that retention removed, according to the latest of its own entries. */
export async function findTail(db: Database, keyring: Keyring): Promise<Tail> {
  const latest = await audit.findLatest(db, { project_id: DEFAULT_PROJECT, action: ACTION })
  if (!latest) return WHOLE
  const [seq, hash] = (latest.target ?? '').split(':')
  const tail = { seq: Number(seq), hash: hash ?? '' }
  return latest.target === targetOf(tail, keyring) ? tail : { ...tail, forged_at: latest.seq }
}

function targetOf({ seq, hash }: audit.ChainEnd, keyring: Keyring): string {
  const position = `${seq}:${hash}`
  return `${position}:${keyring.digest(position, PURPOSE)}`
}
