import type { JournalEntry } from '../storage/journal/entry.ts'

/**
 * What an operation without a transaction has done and not written yet. Whoever ran the operation writes the entry, in one
 * commit with the reply to a request that may be repeated, and answers after that.
 */
export class Unwritten {
  readonly entry: JournalEntry
  /** The data of the reply. An error is thrown once the entry is written, and is not kept for a repeated request. */
  readonly answer: unknown
  /** What the caller hears when the entry's lease was lost. */
  readonly lost: string | undefined
  /** Called when the entry is written, and also when it cannot be. */
  readonly ended: (() => void) | undefined

  constructor(entry: JournalEntry, answer: unknown, lost?: string, ended?: () => void) {
    this.entry = entry
    this.answer = answer
    this.lost = lost
    this.ended = ended
  }
}
