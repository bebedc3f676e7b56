import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { exactText } from '../../lib/text/format.ts'
import { Axes, bars, curve, dots, Markers } from './drawing.tsx'
import { bucketAt, type Line, type Marker, type Plot, plotOf } from './plot.ts'

type Props = {
  title: string
  /** When each bucket begins, in seconds since the epoch. */
  times: number[]
  lines: Line[]
  markers?: Marker[]
  /** When the last bucket ends. */
  end: number
  /** The vertical axis goes at least up to this value. */
  least: number
  format(value: number): string
  /** Called when the reader has selected a range by dragging, in milliseconds. */
  onZoom(from: number, to: number): void
}

const NONE: Marker[] = []

/** A shorter drag counts as a click. */
const LEAST_DRAG = 4

/** The time at the pointer, which all charts on the page show. */
const pointed = signal<number | undefined>(undefined)

/** Numbers over time, as bars or as curves. */
export function Chart({ title, times, lines, markers = NONE, end, least, format, onZoom }: Props) {
  const host = useRef<HTMLDivElement>(null)
  const width = useWidth(host)
  const [hidden, setHidden] = useState<readonly string[]>([])
  const [drag, setDrag] = useState<{ from: number; to: number }>()
  const plot = useMemo(
    () => plotOf({ times, end, least, width, lines: lines.filter(({ label }) => !hidden.includes(label)) }),
    [times, lines, end, least, width, hidden],
  )
  // Moving the pointer redraws only what follows it.
  const drawn = useMemo(() => <Drawn plot={plot} markers={markers} format={format} />, [plot, markers])
  const at = pointed.value === undefined ? undefined : bucketAt(plot, pointed.value)
  const xOf = ({ clientX }: PointerEvent) => {
    const x = clientX - (host.current?.getBoundingClientRect().left ?? 0)
    return Math.min(Math.max(x, plot.left), plot.right)
  }
  const move = (event: PointerEvent) => {
    const x = xOf(event)
    pointed.value = plot.timeAt(x)
    if (drag) setDrag({ ...drag, to: x })
  }
  const drop = () => {
    setDrag(undefined)
    if (!drag || Math.abs(drag.to - drag.from) < LEAST_DRAG) return
    const [from = 0, to = 0] = [drag.from, drag.to].map((x) => plot.timeAt(x) * 1000).toSorted((a, b) => a - b)
    onZoom(from, to)
  }
  const leave = () => {
    pointed.value = undefined
    setDrag(undefined)
  }
  return (
    <figure class="chart" aria-label={title}>
      <figcaption>{title}</figcaption>
      <div
        ref={host}
        class="plot"
        onPointerMove={move}
        onPointerDown={(event) => event.button === 0 && setDrag({ from: xOf(event), to: xOf(event) })}
        onPointerUp={drop}
        onPointerLeave={leave}
        onPointerCancel={leave}
      >
        <svg width={width} height={plot.height} aria-hidden="true">
          {drawn}
          {at !== undefined && <path class="cursor" d={`M${plot.middle(at)} ${plot.top}V${plot.bottom}`} />}
          {drag && (
            <rect
              class="selection"
              x={Math.min(drag.from, drag.to)}
              y={plot.top}
              width={Math.abs(drag.to - drag.from)}
              height={plot.bottom - plot.top}
            />
          )}
        </svg>
      </div>
      <Legend lines={lines} hidden={hidden} setHidden={setHidden} times={times} at={at} format={format} />
    </figure>
  )
}

function Drawn({ plot, markers, format }: { plot: Plot; markers: Marker[]; format: Props['format'] }) {
  return (
    <>
      <Axes plot={plot} format={format} />
      {plot.lines.map((line) =>
        line.isBars ? (
          <path key={line.label} d={bars(plot, line)} style={{ fill: `var(${line.color})` }} />
        ) : (
          <g key={line.label} class="curve" style={{ stroke: `var(${line.color})` }}>
            <path d={curve(plot, line)} />
            <path class="dots" d={dots(plot, line)} />
          </g>
        ),
      )}
      <Markers plot={plot} markers={markers} />
    </>
  )
}

type LegendProps = Pick<Props, 'lines' | 'times' | 'format'> & {
  hidden: readonly string[]
  setHidden(hidden: string[]): void
  at: number | undefined
}

/**
 * The meaning of each color, and its value at the pointer or in total. Lines can be hidden to make the others easier to
 * see.
 */
function Legend({ lines, hidden, setHidden, times, at, format }: LegendProps) {
  const valueOf = ({ values, total }: Line) => {
    const value = at === undefined ? total : (values[at] ?? null)
    if (value === undefined) return ''
    return `: ${value === null ? '–' : format(value)}`
  }
  const hasTotals = lines.some(({ total }) => total !== undefined)
  const toggle = (label: string) =>
    setHidden(hidden.includes(label) ? hidden.filter((other) => other !== label) : [...hidden, label])
  return (
    <div class="legend">
      <span>{at === undefined ? hasTotals && 'In total' : exactText((times[at] ?? 0) * 1000)}</span>
      {lines.map((line) => (
        <button
          key={line.label}
          type="button"
          aria-pressed={!hidden.includes(line.label)}
          onClick={() => toggle(line.label)}
        >
          <i style={{ background: `var(${line.color})` }} />
          {line.label}
          {valueOf(line)}
        </button>
      ))}
    </div>
  )
}

/** An element's width while it is shown. */
function useWidth(element: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const seen = element.current
    if (!seen) return
    const resized = new ResizeObserver(() => setWidth(seen.clientWidth))
    resized.observe(seen)
    return () => resized.disconnect()
  }, [])
  return width
}
