import type { AuditEntry } from '../../../sdk/client.ts'
import { service } from '../../lib/service.ts'

const PAGE = 100
/** How many entries are checked at most, because loading more is slow. The command line checks all of them. */
const MAX_CHECKED = 2_000

export type Verdict = { checked: number; problem?: string }

/**
 * Computes the hashes of the newest entries again, in the browser: each entry has the hash of the one before it, and
 * the newest has the one that the service calls the end of the chain.
 */
export async function verifyChain(): Promise<Verdict> {
  const end = await service.audit.head()
  const chain = await loadNewest(end.seq)
  let expected = end
  let checked = 0
  for (const entry of chain) {
    const { seq, hash, prev_hash } = entry
    // There is a gap: older entries were not loaded, or retention has removed them. They are not checked.
    if (seq !== expected.seq) break
    if (hash !== expected.hash) return { checked, problem: `entry ${seq} does not carry the hash that follows from it` }
    if (hash !== (await hashOf(entry))) return { checked, problem: `entry ${seq} was altered` }
    expected = { seq: seq - 1, hash: prev_hash ?? '' }
    checked++
  }
  if (end.seq > 0 && checked === 0) return { checked, problem: `entry ${end.seq}, the newest, is missing` }
  return { checked }
}

/** The newest entries that are in the chain, newest first. */
async function loadNewest(end: number): Promise<AuditEntry[]> {
  const found: AuditEntry[] = []
  for (let offset = 0; offset < MAX_CHECKED; offset += PAGE) {
    const { data, pagination } = await service.audit.list({ limit: PAGE, offset })
    found.push(...data)
    if (!pagination.has_more) break
  }
  return found.filter(({ seq }) => seq !== null && seq <= end).toSorted((a, b) => (b.seq ?? 0) - (a.seq ?? 0))
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
