import type { StreamEvent } from '../runtime/following/transcript.ts'
import type { JournalEntry } from '../storage/journal/entry.ts'
import type { LeasedWork } from '../storage/journal/journal.ts'

/** The form in which the client wants its answer. */
export type Mode = 'reply' | 'stream' | 'background'

/** How the answer reaches the client. */
export type ReplyChannel = {
  mode: Mode
  /**
   * Registers a listener that is called when the client has disconnected. Undefined if the work should continue in any
   * case.
   */
  onHangUp: ((listener: () => void) => void) | undefined
  /** Set when the client reads a stream. The last event, `done`, is the reply itself. */
  emit: ((event: StreamEvent) => void) | undefined
  /** Tells the client that its stream has started, before there is an event. */
  openStream: (() => void) | undefined
  last_event_id: string | undefined
  /** Call this before many bytes are read for the reply. Rejects if the process has no room for them now. */
  reserve(bytes: number): Promise<void>
}

export const PLAIN_REPLY: ReplyChannel = {
  mode: 'reply',
  onHangUp: undefined,
  emit: undefined,
  openStream: undefined,
  last_event_id: undefined,
  reserve: async () => {},
}

/** A reply with status 202: the work continues after it. `asked` says whether the client requested that. */
export class AcceptedReply {
  readonly data: unknown
  readonly location: string
  readonly asked: boolean

  constructor(data: unknown, location: string, asked: boolean) {
    this.data = data
    this.location = location
    this.asked = asked
  }
}

/** The result of an operation whose reply is on disk, together with everything else that the operation wrote. */
export const COMMITTED = Symbol('committed')

/**
 * Writes what an operation without a transaction has to write, in one commit with its reply. Resolves with undefined if
 * a lease of the entry was lost; then nothing is written. `work` is what the entry ends. It
 * continues elsewhere if the entry isn't written.
 */
export type CommitReply = (
  entry: JournalEntry,
  answer: unknown,
  work: LeasedWork,
) => Promise<typeof COMMITTED | undefined>
