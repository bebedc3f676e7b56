import { canonicalJson } from '../../../lib/json.ts'
import type { RepeatableRequest } from '../../../operation/context.ts'
import { sha256 } from '../../../security/digest.ts'
import type { Database } from '../../../storage/database.ts'
import type { JournalEntry } from '../../../storage/journal/entry.ts'
import type { RenderedReply } from '../../dialects/dialect.ts'

/** A request that has an Idempotency-Key. */
export type Repeatable = {
  /** The request's own ID, or the ID of the run that it is about. */
  request_id: string
  scope: string
  project_id: string
  key: string
  fingerprint: string
  /** Whether its reply is stored encrypted. */
  secret: boolean
}

/** Two requests are the same if their fingerprints are equal. The order of fields in the body doesn't matter. */
export function fingerprint(method: string, path: string, query: string, body: unknown): string {
  return sha256(`${method} ${path}?${query}\n${canonicalJson(body ?? null)}`)
}

/** The reply for repeated requests. If the run waits, they get the run's state at their time. */
export type KeptReply = RenderedReply | 'waiting'

/** The leased right to run a request. Either both its reply and its effects are stored, or neither. */
export type HeldClaim = RepeatableRequest & {
  /**
   * Adds the reply for repeated requests to the entry. Without a reply, the run has failed, and the key becomes free.
   */
  withReply(entry: JournalEntry, reply: KeptReply | undefined): JournalEntry
  /** Stores the reply of a request that has no entry. Returns false if another run has taken over. */
  complete(reply: KeptReply): Promise<boolean>
  /** `ended` means that this request has ended it, although the database's answer to that commit may be lost. */
  standing(): Promise<'held' | 'ended' | 'lost'>
}

/** Runs the request with the right to do so. */
export type RunWithClaim = (held: HeldClaim) => Promise<RenderedReply>

/** Runs the request in the transaction that claims its key. */
export type RunWithin = (db: Database, repeated: RepeatableRequest) => Promise<RenderedReply>

/** Answers a repeated request whose run had to wait with the run's current state. */
export type FollowRun = (repeated: RepeatableRequest) => Promise<RenderedReply>
