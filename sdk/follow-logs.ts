import type { LogEntry } from './api.ts'
import type { ListQuery } from './call.ts'
import type { Page } from './pages.ts'
import { pause } from './request.ts'

type LogQuery = ListQuery<'getLogs'>

const POLL_MS = 1_000
const PAGE_LIMIT = 1_000

/** Polls for new entries and yields them. Starts at `query.after`, or now. */
export async function* followLogs(
  load: (query: LogQuery) => Promise<Page<LogEntry>>,
  query: LogQuery,
  signal: AbortSignal | undefined,
): AsyncGenerator<LogEntry> {
  let after = query.after ?? 'latest'
  for (;;) {
    const { data, pagination } = await load({ limit: PAGE_LIMIT, ...query, after })
    yield* data
    after = pagination.next_after ?? after
    if (!pagination.has_more) await pause(POLL_MS, signal)
  }
}
