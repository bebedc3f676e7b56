import { useEffect, useRef, useState } from 'preact/hooks'
import type { LogEntry, MoorageError } from '../../../sdk/client.ts'
import { followLog, type LogQuery, readPage } from './follow-log.ts'
import type { LogPage, OlderLines } from './log-page.ts'
import { mergeEntries } from './merge-entries.ts'

export type Tail = {
  /** Oldest first. Undefined until the first entries are loaded. */
  entries: LogEntry[] | undefined
  error: MoorageError | undefined
  hasOlder: boolean
  /** How many lines were added before those that were loaded first. */
  older: number
  loadOlder(): void
  reload(): void
}

/** How many lines are kept. The oldest ones are dropped when more arrive. */
const MAX_LINES = 100_000

type TailState = { entries?: LogEntry[]; error?: MoorageError; olderThan?: string | undefined; older?: number }

/** An agent's log and, while it is live, new entries. */
export function useLogTail(agent: string, query: LogQuery, isLive: boolean): Tail {
  const [loaded, setLoaded] = useState<TailState>({})
  const [asked, setAsked] = useState(0)
  const key = JSON.stringify([agent, query])
  const shown = useRef(key)
  shown.current = key
  const olderThan = useRef<OlderLines | undefined>(undefined)
  const isLoadingOlder = useRef(false)
  const loadedKey = useRef('')
  // The entries shown until now may belong to another log.
  const showError = (error: MoorageError) =>
    setLoaded((before) => ({ ...(loadedKey.current === key && before), error }))

  useEffect(() => {
    const showFirst = ({ entries, older }: LogPage) => {
      olderThan.current = older
      loadedKey.current = key
      setLoaded({ entries, olderThan: older?.end_time })
    }
    const showNews = (entries: LogEntry[]) =>
      setLoaded((before) => ({
        ...withoutError(before),
        ...cut(mergeEntries(before.entries ?? [], entries), before.older),
      }))
    return followLog(agent, query, { isLive, showFirst, showNews, showError })
  }, [key, asked, isLive])

  const loadOlder = async () => {
    if (!olderThan.current || isLoadingOlder.current) return
    isLoadingOlder.current = true
    try {
      // Entries that are read twice are merged.
      const page = await readPage(agent, { ...query, ...olderThan.current })
      // The reader may have selected other lines in the meantime.
      if (shown.current !== key) return
      olderThan.current = page.older
      setLoaded(({ entries: known = [], older = 0 }) => {
        const merged = mergeEntries(known, page.entries, { isOlder: true })
        return { entries: merged, olderThan: page.older?.end_time, older: older + merged.length - known.length }
      })
    } catch (error) {
      showError(error as MoorageError)
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

function withoutError({ entries, olderThan, older = 0 }: TailState): TailState {
  return { ...(entries && { entries }), olderThan, older }
}

function cut(entries: LogEntry[], older = 0): Pick<TailState, 'entries' | 'older'> {
  const gone = Math.max(0, entries.length - MAX_LINES)
  return { entries: gone > 0 ? entries.slice(gone) : entries, older: older - gone }
}
