import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'
import { exactText } from '../../lib/text/format.ts'
import { theme } from '../../lib/theme.ts'
import { colorOf } from './color.ts'
import { loadPlot } from './load-plot.ts'

export type Line = {
  label: string
  /** In the order of the times; null where nothing ended. */
  values: (number | null)[]
  /** A custom property of the style sheet. */
  color: string
  isBars?: boolean
}

/** Something that happened at a time: a vertical line with a word. */
export type Marker = { at: number; label: string }

type Props = {
  title: string
  /** Seconds since the epoch. */
  times: number[]
  lines: Line[]
  markers: Marker[]
  /** When the last step ends. */
  end: number
  /** The vertical axis goes at least so far. */
  least: number
  format(value: number): string
  /** The reader has dragged over a range, in milliseconds. */
  onZoom(from: number, to: number): void
}

const HEIGHT = 190
const SYNC = 'metrics'
/** The other charts follow the pointer, but not a drag: one drag must zoom once. */
const FOLLOWED = { pub: () => true, sub: (type: string) => type === 'mousemove' || type === 'mouseleave' }

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Midnight is written as the date. */
function timeText(seconds: number, step: number): string {
  const date = new Date(seconds * 1000)
  const isDay = step >= 86_400 || (date.getHours() === 0 && date.getMinutes() === 0)
  return (isDay ? day : clock).format(date)
}

/** One chart. The cursors of all charts on the page move together. */
export function Chart(props: Props) {
  const { title, times, lines, markers } = props
  const element = useRef<HTMLDivElement>(null)
  const latest = useRef(props)
  latest.current = props
  // A chart is drawn anew when what it shows changes, and when the colours do.
  useEffect(() => {
    let isCurrent = true
    let remove: (() => void) | undefined
    void loadPlot().then(({ default: Plot }) => {
      if (isCurrent) remove = show(Plot, element.current as HTMLDivElement, latest)
    })
    return () => {
      isCurrent = false
      remove?.()
    }
  }, [times, lines, markers])
  return (
    <figure class="chart" aria-label={title}>
      <figcaption>{title}</figcaption>
      <div ref={element} />
    </figure>
  )
}

type Plot = typeof uPlot

/** Draws the chart, and returns what removes it. */
function show(Plot: Plot, host: HTMLElement, latest: { current: Props }): () => void {
  let chart = draw(Plot, host, latest)
  const again = () => {
    chart.destroy()
    chart = draw(Plot, host, latest)
  }
  const resized = new ResizeObserver(() => chart.setSize({ width: host.clientWidth, height: HEIGHT }))
  resized.observe(host)
  const stop = theme.subscribe(again)
  return () => {
    resized.disconnect()
    stop()
    chart.destroy()
  }
}

function draw(Plot: Plot, host: HTMLElement, latest: { current: Props }): uPlot {
  const { times, lines, end, least, format } = latest.current
  const axis = {
    stroke: colorOf(host, '--soft'),
    grid: { stroke: colorOf(host, '--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  }
  return new Plot(
    {
      width: host.clientWidth,
      height: HEIGHT,
      cursor: {
        sync: { key: SYNC, filters: FOLLOWED },
        drag: { x: true, y: false, setScale: false },
        points: { size: 6 },
      },
      scales: {
        x: { range: (_, low) => [low, end] },
        y: { range: (_, _low, high) => [0, Math.max(high * 1.1, least)] },
      },
      axes: [
        { ...axis, size: 30, values: (_, ticks, _axis, _space, step) => ticks.map((tick) => timeText(tick, step)) },
        { ...axis, size: 64, values: (_, ticks) => ticks.map(format) },
      ],
      series: [
        { label: 'Time', value: (_, time) => (time ? exactText(time * 1000) : '–') },
        ...lines.map((line) => seriesOf(Plot, host, line, format)),
      ],
      hooks: {
        draw: [(chart) => drawMarkers(chart, host, latest.current.markers)],
        setSelect: [(chart) => zoom(chart, latest.current.onZoom)],
      },
    },
    [times, ...lines.map(({ values }) => values)] as uPlot.AlignedData,
    host,
  )
}

function seriesOf(
  Plot: Plot,
  host: HTMLElement,
  { label, color, isBars }: Line,
  format: (value: number) => string,
): uPlot.Series {
  const stroke = colorOf(host, color)
  return {
    label,
    stroke,
    width: isBars ? 0 : 1.5,
    spanGaps: true,
    value: (_, value) => (value === null || value === undefined ? '–' : format(value)),
    ...(isBars && { fill: stroke, paths: Plot.paths.bars?.({ size: [0.8, 40] }) as uPlot.Series.PathBuilder }),
    points: { show: !isBars, size: 4 },
  }
}

function zoom(chart: uPlot, onZoom: Props['onZoom']): void {
  const { left, width } = chart.select
  if (width < 4) return
  onZoom(chart.posToVal(left, 'x') * 1000, chart.posToVal(left + width, 'x') * 1000)
}

function drawMarkers(chart: uPlot, host: HTMLElement, markers: Marker[]): void {
  const { ctx, bbox } = chart
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = colorOf(host, '--accent')
  ctx.lineWidth = window.devicePixelRatio
  ctx.font = `${11 * window.devicePixelRatio}px system-ui, sans-serif`
  ctx.textAlign = 'left'
  ctx.setLineDash([4, 3])
  let free = 0
  for (const { at, label } of markers.toSorted((a, b) => a.at - b.at)) {
    const x = chart.valToPos(at / 1000, 'x', true)
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    // A label that would cover the label before it is left out. Its line is still drawn.
    const width = ctx.measureText(label).width + 8
    if (x < free || x + width > bbox.left + bbox.width) continue
    ctx.fillText(label, x + 4, bbox.top + 10 * window.devicePixelRatio)
    free = x + width
  }
  ctx.restore()
}
