import type { LogEntry } from '../../../sdk/client.ts'
import type { Page } from '../../../sdk/pages.ts'

/** Where the next lines are: before this time, after as many as were already read. */
export type OlderLines = { end_time: string; offset: number }

/** A page of a log, oldest first. */
export type LogPage = { entries: LogEntry[]; older: OlderLines | undefined }

/** `asked` is what the request contained. */
export function pageOf({ data, pagination }: Page<LogEntry>, asked: Partial<OlderLines> = {}): LogPage {
  const { end_time, offset = 0 } = asked
  const { total, searched_to } = pagination
  const entries = data.toReversed()
  const read = offset + data.length
  const last = data.at(-1)
  if (last && read < total) {
    // The page may have ended between two lines of the same millisecond, and there may be more of those than fit on a
    // page.
    const end = new Date(Date.parse(last.timestamp) + 1).toISOString()
    return { entries, older: { end_time: end, offset: end === end_time ? read : 0 } }
  }
  // Everything that the search found was read, so it continues after the lines that it has searched.
  const isFurther = searched_to !== undefined && searched_to !== end_time
  return { entries, older: isFurther ? { end_time: searched_to, offset: 0 } : undefined }
}
