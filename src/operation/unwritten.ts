import type { JournalEntry } from '../storage/journal/entry.ts'

/**
 * What an operation without a transaction has done but not written yet. The caller of the operation writes the entry
 * and then answers. The reply to a request that may be repeated is part of the same commit.
 */
export class Unwritten {
  readonly entry: JournalEntry
  /**
   * The data of the reply. If it is an error, it is thrown after the entry is written, and is not stored for repeated
   * requests.
   */
  readonly answer: unknown
  /** The message for the client if the entry's lease was lost. */
  readonly lost: string | undefined
  /** Called when the entry is written, and also when it cannot be written. */
  readonly ended: (() => void) | undefined

  constructor(entry: JournalEntry, answer: unknown, lost?: string, ended?: () => void) {
    this.entry = entry
    this.answer = answer
    this.lost = lost
    this.ended = ended
  }
}
