import { useEffect, useRef, useState } from 'preact/hooks'
import type { LogEntry, MoorageError } from '../../../sdk/client.ts'
import { service } from '../../lib/service.ts'
import { mergeEntries } from './merge-entries.ts'

export type LogQuery = { level?: string; search?: string; request_id?: string; start_time?: string; end_time?: string }

export type Tail = {
  /** Oldest first; undefined before the first are there. */
  entries: LogEntry[] | undefined
  error: MoorageError | undefined
  hasOlder: boolean
  /** How many lines have come before those that were loaded first. */
  older: number
  loadOlder(): void
  reload(): void
}

const PAGE = 200
const POLL_MS = 1_500
/** How many are read at once of what has come. */
const NEWS = 1_000
/** So many lines are kept; the oldest go when more come. */
const MOST = 100_000

type Loaded = { entries?: LogEntry[]; error?: MoorageError; olderThan?: string | undefined; older?: number }

/** The log of an agent, and while it is live what comes. */
export function useLogTail(agent: string, query: LogQuery, isLive: boolean): Tail {
  const [loaded, setLoaded] = useState<Loaded>({})
  const [asked, setAsked] = useState(0)
  const key = JSON.stringify([agent, query])
  const olderThan = useRef<string | undefined>(undefined)
  const isLoadingOlder = useRef(false)

  const read = async (range: LogQuery, signal?: AbortSignal) => {
    const { data, pagination } = await service.logs.list(
      agent,
      { ...query, ...range, limit: PAGE },
      { ...(signal && { signal }) },
    )
    const { has_more, searched_to } = pagination
    return { entries: data.toReversed(), goOnAt: searched_to ?? (has_more ? data.at(-1)?.timestamp : undefined) }
  }

  useEffect(() => {
    const life = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    // The place in the log behind which everything is new. It is asked for before the first page: nothing is missed.
    let after: string | undefined
    let isFirst = true
    const news = async (from: string, limit: number) => {
      const { data, pagination } = await service.logs.list(
        agent,
        { ...query, after: from, limit },
        { signal: life.signal },
      )
      after = pagination.next_after ?? after
      return { entries: data, has_more: pagination.has_more }
    }
    const step = async () => {
      let wait_ms = POLL_MS
      try {
        if (isFirst) {
          if (isLive) await news('latest', 1)
          const { entries, goOnAt } = await read({}, life.signal)
          if (life.signal.aborted) return
          olderThan.current = goOnAt
          setLoaded({ entries, olderThan: goOnAt })
        } else {
          const { entries, has_more } = await news(after ?? 'latest', NEWS)
          if (life.signal.aborted) return
          if (has_more) wait_ms = 0
          setLoaded((before) => ({
            ...withoutError(before),
            ...cut(mergeEntries(before.entries ?? [], entries), before.older),
          }))
        }
        isFirst = false
      } catch (error) {
        if (life.signal.aborted) return
        setLoaded((before) => ({ ...before, error: error as MoorageError }))
      }
      if (isLive) timer = setTimeout(whenSeen, wait_ms)
    }
    const whenSeen = () => {
      if (!document.hidden) void step()
      else document.addEventListener('visibilitychange', whenSeen, { once: true, signal: life.signal })
    }
    void step()
    return () => {
      life.abort()
      clearTimeout(timer)
    }
  }, [key, asked, isLive])

  const loadOlder = async () => {
    const end = olderThan.current
    if (!end || isLoadingOlder.current) return
    isLoadingOlder.current = true
    try {
      // The last page may have ended between two entries of the same millisecond. Entries that come twice are merged.
      const end_time = new Date(Date.parse(end) + 1).toISOString()
      const { entries, goOnAt } = await read({ end_time })
      olderThan.current = goOnAt === end ? undefined : goOnAt
      setLoaded(({ entries: known = [], older = 0 }) => {
        const merged = mergeEntries(known, entries)
        return { entries: merged, olderThan: olderThan.current, older: older + merged.length - known.length }
      })
    } catch (error) {
      setLoaded((before) => ({ ...before, error: error as MoorageError }))
    } finally {
      isLoadingOlder.current = false
    }
  }

  return {
    entries: loaded.entries,
    error: loaded.error,
    hasOlder: loaded.olderThan !== undefined,
    older: loaded.older ?? 0,
    loadOlder: () => void loadOlder(),
    reload: () => setAsked((count) => count + 1),
  }
}

function withoutError({ entries, olderThan, older = 0 }: Loaded): Loaded {
  return { ...(entries && { entries }), olderThan, older }
}

function cut(entries: LogEntry[], older = 0): Pick<Loaded, 'entries' | 'older'> {
  const gone = Math.max(0, entries.length - MOST)
  return { entries: gone > 0 ? entries.slice(gone) : entries, older: older - gone }
}
