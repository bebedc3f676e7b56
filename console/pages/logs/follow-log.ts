import type { LogEntry, MoorageError } from '../../../sdk/client.ts'
import { whenSeen } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { type LogPage, pageOf } from './log-page.ts'

export type LogQuery = {
  level?: string
  search?: string
  request_id?: string
  start_time?: string
  end_time?: string
  offset?: number
}

const PAGE = 200
const POLL_MS = 1_500
/** How many new entries are read at once. */
const NEWS = 1_000

export async function readPage(agent: string, query: LogQuery, signal?: AbortSignal): Promise<LogPage> {
  const page = await service.logs.list(agent, { ...query, limit: PAGE }, { ...(signal && { signal }) })
  return pageOf(page, query)
}

type LogFollower = {
  isLive: boolean
  showFirst(page: LogPage): void
  showNews(entries: LogEntry[]): void
  showError(error: MoorageError): void
}

/** Shows the newest page and, while the log is live, new entries. Returns a function that stops this. */
export function followLog(agent: string, query: LogQuery, following: LogFollower): () => void {
  const { isLive, showFirst, showNews, showError } = following
  const life = new AbortController()
  const { signal } = life
  let timer: ReturnType<typeof setTimeout> | undefined
  let isFirst = true
  // The position in the log after which everything is new. It is requested before the first page, so nothing is missed.
  let position = 'latest'
  const readNews = async (after: string, limit: number) => {
    const { data, pagination } = await service.logs.list(agent, { ...query, after, limit }, { signal })
    position = pagination.next_after ?? position
    return { entries: data, has_more: pagination.has_more }
  }
  const step = async () => {
    let wait_ms = POLL_MS
    try {
      if (isFirst) {
        if (isLive) await readNews('latest', 1)
        const page = await readPage(agent, query, signal)
        if (signal.aborted) return
        showFirst(page)
      } else {
        const { entries, has_more } = await readNews(position, NEWS)
        if (signal.aborted) return
        if (has_more) wait_ms = 0
        showNews(entries)
      }
      isFirst = false
    } catch (error) {
      if (signal.aborted) return
      showError(error as MoorageError)
    }
    if (isLive) timer = setTimeout(() => whenSeen(step, signal), wait_ms)
  }
  void step()
  return () => {
    life.abort()
    clearTimeout(timer)
  }
}
