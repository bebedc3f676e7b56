import { canonicalJson } from '../../../lib/json.ts'
import { sha256 } from '../../../security/digest.ts'
import type { Database } from '../../../storage/database.ts'
import type { JournalEntry } from '../../../storage/journal/entry.ts'
import type { Rendered } from '../../dialects/dialect.ts'

/** A request that may be sent again. */
export type Repeatable = {
  /** Its own id, or that of the run that it is about. */
  request_id: string
  scope: string
  key: string
  fingerprint: string
  /** Its reply is stored encrypted. */
  secret: boolean
  /**
   * The request has no effect before its entry is in the journal, so the entry and its claim can be written together.
   */
  staysInside: boolean
}

/** Two requests are the same when their fingerprints are. The order of the fields in a body does not matter. */
export function fingerprint(method: string, path: string, query: string, body: unknown): string {
  return sha256(`${method} ${path}?${query}\n${canonicalJson(body ?? null)}`)
}

/** The right to run the request. Its reply is stored together with its effects, or neither is. */
export type Held = {
  /** The same request, sent before: its process died while it ran. */
  readonly earlier: string | undefined
  /** The key is in the store already. Otherwise it is claimed with what the run leaves. */
  readonly claimed: boolean
  /**
   * Called when nothing of the earlier request is stored: this request begins anew, and later ones look for it.
   * Returns false when another run has taken over.
   */
  beginAnew(): Promise<boolean>
  /** Adds the reply, for repeated requests, to the entry. A run without a reply failed: then the key becomes free. */
  withReply(entry: JournalEntry, reply: Rendered | undefined): JournalEntry
  /** Stores the reply in the transaction of the effects. Returns false when another run has taken over. */
  complete(db: Database, reply: Rendered): Promise<boolean>
  isOurs(): Promise<boolean>
}

/** Does what the request asks for, with the right to do it. */
export type RunHeld = (held: Held) => Promise<Rendered>
