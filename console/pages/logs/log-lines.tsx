import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { LogEntry } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { clockText, exactText } from '../../lib/format.ts'
import { requestPath } from '../../lib/paths.ts'
import { Button } from '../../ui/button.tsx'
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
            <Line key={`${keyOf(entry)} ${i}`} entry={entry} />
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

function Line({ entry: { timestamp, level, message, metadata } }: { entry: LogEntry }) {
  const { request_id, ...rest } = metadata
  const facts = Object.entries(rest).filter(([, value]) => value !== null)
  return (
    <li class={level}>
      <time dateTime={timestamp} title={exactText(timestamp)}>
        {clockText(timestamp)}
      </time>
      <b>{level}</b>
      <span class="words">
        {message}
        {facts.map(([name, value]) => (
          <span key={name} class="fact">
            {name}={typeof value === 'string' ? value : JSON.stringify(value)}
          </span>
        ))}
      </span>
      <a href={href(requestPath(request_id))} title={`Everything about ${request_id}`}>
        {request_id.slice(-8)}
      </a>
    </li>
  )
}
