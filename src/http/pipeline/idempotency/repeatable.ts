import { canonicalJson } from '../../../lib/json.ts'
import type { RepeatableRequest } from '../../../operation/context.ts'
import { sha256 } from '../../../security/digest.ts'
import type { Database } from '../../../storage/database.ts'
import type { JournalEntry } from '../../../storage/journal/entry.ts'
import type { RenderedReply } from '../../dialects/dialect.ts'

/** A request that can be repeated. */
export type Repeatable = {
  /** Its own ID, or that of the run that it is about. */
  request_id: string
  scope: string
  project_id: string
  key: string
  fingerprint: string
  /** Its reply is stored encrypted. */
  secret: boolean
}

/** Two requests are the same when their fingerprints are. The order of the fields in a body does not matter. */
export function fingerprint(method: string, path: string, query: string, body: unknown): string {
  return sha256(`${method} ${path}?${query}\n${canonicalJson(body ?? null)}`)
}

/** The leased right to run a request. Its reply is stored together with its effects, or neither is. */
export type HeldClaim = RepeatableRequest & {
  /** Adds the reply, for repeated requests, to the entry. A run without a reply failed: then the key becomes free. */
  withReply(entry: JournalEntry, reply: RenderedReply | undefined): JournalEntry
  /** Stores the reply of a request without an entry. Returns false if another run has taken over. */
  complete(reply: RenderedReply): Promise<boolean>
  isOurs(): Promise<boolean>
}

/** Does what the request requires, with the right to do it. */
export type RunWithClaim = (held: HeldClaim) => Promise<RenderedReply>

/** Does what the request requires in the transaction that claims its key. */
export type RunWithin = (db: Database, repeated: RepeatableRequest) => Promise<RenderedReply>
