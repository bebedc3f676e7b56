import type { AuditEntry } from '../../../sdk/client.ts'
import { service } from '../../lib/service.ts'

const PAGE = 100
/** The most entries that are checked, because loading more is slow. The command line checks all of them. */
const MAX_CHECKED = 2_000

export type Verdict = { checked: number; problem?: string }

/** The entry in which retention records up to where it has removed entries. Its target is `SEQ:HASH:PROOF`. */
const TRIM = 'trimAuditLog'

/**
 * Computes the hashes of the newest entries again in the browser. Each entry contains the hash of the one before it,
 * and the newest has the hash that the service reports as the chain's end. The check starts where retention says, or
 * with the first entry. Only the service has the key that proves this, so the page refers to the command line.
 */
export async function verifyChain(): Promise<Verdict> {
  const end = await service.audit.head()
  const { loaded, areAll } = await loadNewest()
  const [tail = 0, tailHash] = loaded.find(({ action }) => action === TRIM)?.target?.split(':') ?? []
  const chain = loaded.filter(({ seq }) => seq !== null && seq <= end.seq)
  let expected = end
  let checked = 0
  for (const entry of chain) {
    const { seq, hash, prev_hash } = entry
    if (seq !== expected.seq) break
    if (hash !== expected.hash) return { checked, problem: `entry ${seq} has a hash that doesn't match it` }
    if (hash !== (await hashOf(entry))) return { checked, problem: `entry ${seq} was changed` }
    expected = { seq: seq - 1, hash: prev_hash ?? '' }
    checked++
  }
  // The entries aren't loaded in the chain's order, so the last page may have gaps.
  const isCutOff = !areAll && chain.length - checked < PAGE
  const isBeginning = expected.seq === Number(tail) && (expected.hash === tailHash || expected.seq === 0)
  const isWhole = isCutOff || (isBeginning && checked === chain.length)
  return isWhole ? { checked } : { checked, problem: `entry ${expected.seq} is missing` }
}

/** The newest entries, newest first, and whether there are no others. */
async function loadNewest(): Promise<{ loaded: AuditEntry[]; areAll: boolean }> {
  // An entry that is added in the meantime moves others to the next page.
  const found = new Map<string, AuditEntry>()
  let areAll = false
  for (let offset = 0; offset < MAX_CHECKED && !areAll; offset += PAGE) {
    const { data, pagination } = await service.audit.list({ limit: PAGE, offset })
    for (const entry of data) found.set(entry.id, entry)
    areAll = !pagination.has_more
  }
  return { loaded: [...found.values()].toSorted((a, b) => (b.seq ?? 0) - (a.seq ?? 0)), areAll }
}

/** SHA-256 of the entry's values as JSON, in this order. */
async function hashOf(entry: AuditEntry): Promise<string> {
  const { seq, prev_hash, id, created_at, actor_kind, actor, key_id, action, project_id, agent_id, target } = entry
  const { outcome, code, fields, times, request_id, address } = entry
  const who = [actor_kind, actor, key_id, action, project_id, agent_id, target, outcome, code]
  const text = JSON.stringify([seq, prev_hash, id, Date.parse(created_at), ...who, fields, times, request_id, address])
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
