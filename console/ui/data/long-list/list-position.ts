import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { param, setParams } from '../../../lib/location.ts'

/** The height of every row, which `css/table.css` sets. */
export const ROW_PX = 36
/** The columns' heads stay above the rows. */
const HEAD_PX = 32
/** The position is written to the URL after the reader has stopped for this long. */
const STOPPED_MS = 200

/** The reader's position in a long list. */
export type ListPosition = {
  frame: RefObject<HTMLDivElement | null>
  /** The first visible row, and how many rows are visible. */
  at: number
  visible: number
  onScroll(): void
  scrollTo(row: number): void
  /** Whether rows must not move: they are under the pointer, or the reader has scrolled down. */
  isHeld(): boolean
}

export function usePosition(): ListPosition {
  const frame = useRef<HTMLDivElement>(null)
  const lost = useRef<Node | null>(null)
  const [at, setAt] = useState(positionInUrl)
  const [visible, setVisible] = useState(25)
  const onScroll = () => {
    const { scrollTop = 0, clientHeight = 0 } = frame.current ?? {}
    lost.current = focusInside(frame.current)
    const first = Math.floor(scrollTop / ROW_PX)
    setAt(first)
    setVisible(Math.max(1, Math.round((scrollTop + clientHeight - HEAD_PX) / ROW_PX) - first))
  }
  useEffect(() => {
    window.addEventListener('resize', onScroll)
    return () => window.removeEventListener('resize', onScroll)
  }, [])
  // The row that had the focus may be gone, but the keys for scrolling must still work.
  useLayoutEffect(() => {
    if (lost.current && !lost.current.isConnected) frame.current?.focus({ preventScroll: true })
    lost.current = null
  })
  return {
    frame,
    at,
    visible,
    onScroll,
    scrollTo(row) {
      if (frame.current) frame.current.scrollTop = row * ROW_PX
      setAt(row)
    },
    isHeld: () => at > 0 || frame.current?.querySelector('tbody:hover, tbody :focus') != null,
  }
}

/** Keeps the position in the URL, and scrolls to the URL's position. `fresh` rows were added above the first one. */
export function usePositionInUrl({ frame, at, onScroll, scrollTo }: ListPosition, isThere: boolean, fresh: number): void {
  const inUrl = positionInUrl()
  const written = useRef(inUrl)
  useLayoutEffect(() => {
    if (!isThere) return
    if (frame.current) frame.current.scrollTop = inUrl * ROW_PX
    onScroll()
  }, [isThere])
  // The browser's buttons or a filter have led to another position.
  useEffect(() => {
    if (inUrl === written.current) return
    written.current = inUrl
    scrollTo(inUrl)
  }, [inUrl])
  useEffect(() => {
    if (!isThere) return
    const timer = setTimeout(() => {
      written.current = at + fresh
      setParams({ offset: written.current || undefined })
    }, STOPPED_MS)
    return () => clearTimeout(timer)
  }, [at, isThere])
}

function positionInUrl(): number {
  return Math.max(0, Math.floor(Number(param('offset')) || 0))
}

/** The focused element, if it is inside a row. */
function focusInside(frame: HTMLElement | null): Node | null {
  const focused = document.activeElement
  return focused && focused !== frame && frame?.contains(focused) ? focused : null
}
