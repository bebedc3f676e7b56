import type { RefObject } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { LogEntry } from '../../../sdk/client.ts'
import { LogLine } from '../../ui/data/log-line.tsx'

/** How near to the window lines must be to be added to the page. */
const NEAR = '1000px'

type Props = { entries: LogEntry[]; root: RefObject<HTMLElement | null> }

/** A block of consecutive lines. Far from the window, an empty space of the same height replaces them. */
export function LogBlock({ entries, root }: Props) {
  const element = useRef<HTMLDivElement>(null)
  const [space, setSpace] = useState<number | undefined>(undefined)
  useEffect(() => {
    const block = element.current as HTMLDivElement
    // A busy page gets several changes at once, and only the last one is current.
    const look = (changes: IntersectionObserverEntry[]) =>
      setSpace(changes.at(-1)?.isIntersecting ? undefined : block.offsetHeight)
    const observer = new IntersectionObserver(look, { root: root.current, rootMargin: NEAR })
    observer.observe(block)
    return () => observer.disconnect()
  }, [])
  return (
    <div ref={element} {...(space !== undefined && { style: { height: `${space}px` } })}>
      {space === undefined && (
        <ol>
          {entries.map((entry) => (
            <LogLine key={entry.id} entry={entry} />
          ))}
        </ol>
      )}
    </div>
  )
}
