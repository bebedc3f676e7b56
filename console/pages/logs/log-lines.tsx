import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { LogEntry } from '../../../sdk/client.ts'
import { setParams } from '../../lib/location.ts'
import { Button } from '../../ui/button.tsx'
import { LogBlock } from './log-block.tsx'
import type { Tail } from './log-tail.ts'

const NEAR_PX = 40
/** Older lines are loaded before the reader has reached the first line. */
const OLDER_PX = 600
const STOPPED_MS = 250
/** The lines of a block are added to the page and removed together. */
const BLOCK = 50

/**
 * The lines. They follow the end of the log. If the reader scrolls up, they stay, and new lines are counted. Older
 * lines are loaded automatically. The URL contains the line at which the reader has stopped.
 */
export function LogLines({ tail }: { tail: Tail }) {
  const list = useRef<HTMLDivElement>(null)
  const height = useRef(0)
  const [lastRead, setLastRead] = useState<LogEntry | undefined>(undefined)
  const [stops, setStops] = useState(0)
  const entries = tail.entries ?? []
  const fresh = lastRead ? entries.length - 1 - entries.lastIndexOf(lastRead) : 0
  const toEnd = () => {
    if (list.current) list.current.scrollTop = list.current.scrollHeight
  }
  // Lines added before the first line must not move the visible lines.
  useLayoutEffect(() => {
    const log = list.current as HTMLDivElement
    if (!lastRead) toEnd()
    else log.scrollTop += log.scrollHeight - height.current
    height.current = log.scrollHeight
  }, [entries[0]])
  useLayoutEffect(() => {
    if (!lastRead) toEnd()
    height.current = list.current?.scrollHeight ?? 0
  }, [entries.length, lastRead])
  const onScroll = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = list.current ?? {}
    height.current = scrollHeight
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PX
    setLastRead((before) => (isAtEnd ? undefined : (before ?? entries.at(-1))))
    if (scrollTop < OLDER_PX && !isAtEnd) tail.loadOlder()
    setStops((count) => count + 1)
  }
  useEffect(() => {
    if (stops === 0) return
    const timer = setTimeout(() => setParams({ until: lastRead && lastSeen(list.current) }), STOPPED_MS)
    return () => clearTimeout(timer)
  }, [stops])
  return (
    <div class="log-frame">
      <div class="log" ref={list} onScroll={onScroll} role="log" aria-label="Log" tabIndex={0}>
        {tail.hasOlder && (
          <Button look="quiet" onClick={tail.loadOlder}>
            Older entries
          </Button>
        )}
        {blocksOf(entries, tail.older).map(({ id, lines }) => (
          <LogBlock key={id} entries={lines} root={list} />
        ))}
      </div>
      {fresh > 0 && (
        <div class="fresh">
          <Button look="main" icon="down" onClick={toEnd}>
            {fresh} new {fresh === 1 ? 'line' : 'lines'}
          </Button>
        </div>
      )}
    </div>
  )
}

/** Splits lines into blocks. Blocks keep their lines when `older` lines are added before them. */
function blocksOf(entries: LogEntry[], older: number): { id: number; lines: LogEntry[] }[] {
  const first = Math.floor(-older / BLOCK)
  const blocks: { id: number; lines: LogEntry[] }[] = []
  for (let id = first; id * BLOCK + older < entries.length; id++) {
    const lines = entries.slice(Math.max(0, id * BLOCK + older), (id + 1) * BLOCK + older)
    if (lines.length > 0) blocks.push({ id, lines })
  }
  return blocks
}

/** The time of the last visible line. */
function lastSeen(log: HTMLElement | null): string | undefined {
  if (!log) return undefined
  const { left, width, bottom } = log.getBoundingClientRect()
  const line = document.elementFromPoint(left + width / 2, bottom - NEAR_PX)?.closest('li')
  return line?.querySelector('time')?.dateTime
}
