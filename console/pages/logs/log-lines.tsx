import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../ui/button.tsx'
import { LogLine } from '../../ui/data/log-line.tsx'
import type { Tail } from './log-tail.ts'
import { keyOf } from './merge-entries.ts'

const NEAR_PX = 40

/** The lines. They follow the end; when the reader scrolls up they stay, and what comes meanwhile is counted. */
export function LogLines({ tail }: { tail: Tail }) {
  const list = useRef<HTMLDivElement>(null)
  const [read, setRead] = useState<number | undefined>(undefined)
  const entries = tail.entries ?? []
  const fresh = read === undefined ? 0 : entries.length - read
  const toEnd = () => {
    if (list.current) list.current.scrollTop = list.current.scrollHeight
  }
  useLayoutEffect(() => {
    if (read === undefined) toEnd()
  }, [entries.length, read])
  const onScroll = () => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = list.current ?? {}
    const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PX
    setRead((before) => (isAtEnd ? undefined : (before ?? entries.length)))
  }
  const older = () => {
    setRead(undefined)
    tail.loadOlder()
  }
  return (
    <div class="log-frame">
      <div class="log" ref={list} onScroll={onScroll} role="log" aria-label="Log" tabIndex={0}>
        {tail.hasOlder && (
          <Button look="quiet" onClick={older}>
            Older lines
          </Button>
        )}
        <ol>
          {entries.map((entry, i) => (
            <LogLine key={`${keyOf(entry)} ${i}`} entry={entry} />
          ))}
        </ol>
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
