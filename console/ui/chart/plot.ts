export type Line = {
  label: string
  /** In the order of the times. Null if there is no value for a time. */
  values: (number | null)[]
  /** A custom property of the style sheet. */
  color: string
  /** Bars of several lines are stacked. */
  isBars?: boolean
  /** The total for the whole chart, if there is one. */
  total?: number | undefined
}

/** The chart of a new agent has at least this many buckets. */
const LEAST_BUCKETS = 12

/** The first bucket to draw, because the chart begins where its data begins. */
export function firstBucket(buckets: number, hasData: (index: number) => boolean): number {
  const first = Array.from({ length: buckets }, (_, i) => i).findIndex(hasData)
  return Math.max(0, Math.min(first - 1, buckets - LEAST_BUCKETS))
}

/** An event at a time, drawn as a vertical line with a word. */
export type Marker = { at: number; label: string }

const HEIGHT = 190
const LEFT = 64
const RIGHT = 8
const TOP = 10
const BOTTOM = 26

/** A line, with the values below its stacked bars. */
export type PlacedLine = Line & { below: number[] }

/** The positions of everything in the chart, in pixels. Times are in seconds. */
export type Plot = {
  height: number
  left: number
  right: number
  top: number
  bottom: number
  from: number
  to: number
  most: number
  lines: PlacedLine[]
  /** When each bucket begins, followed by the end of the last one. */
  edges: number[]
  x(time: number): number
  y(value: number): number
  /** The middle of a bucket. */
  middle(index: number): number
  timeAt(x: number): number
}

type PlotInput = { times: number[]; lines: Line[]; end: number; least: number; width: number }

export function plotOf({ times, lines, end, least, width }: PlotInput): Plot {
  const edges = [...times, end]
  const from = edges[0] ?? 0
  const length = Math.max(end - from, 1)
  const [right, bottom] = [Math.max(width - RIGHT, LEFT + 1), HEIGHT - BOTTOM]
  const placed = stacked(lines)
  const tops = placed.flatMap(({ values, below }) => values.map((value, i) => (value ?? 0) + (below[i] ?? 0)))
  const most = Math.max(tops.reduce((high, top) => Math.max(high, top), 0) * 1.1, least)
  const x = (time: number) => LEFT + ((right - LEFT) * (time - from)) / length
  return {
    height: HEIGHT,
    left: LEFT,
    right,
    top: TOP,
    bottom,
    from,
    to: end,
    most,
    lines: placed,
    edges,
    x,
    y: (value) => bottom - ((bottom - TOP) * value) / most,
    middle: (i) => (x(edges[i] ?? 0) + x(edges[i + 1] ?? end)) / 2,
    timeAt: (at) => from + (length * (at - LEFT)) / (right - LEFT),
  }
}

function stacked(lines: Line[]): PlacedLine[] {
  let sums: number[] = []
  return lines.map((line) => {
    if (!line.isBars) return { ...line, below: [] }
    const below = sums
    sums = line.values.map((value, i) => (value ?? 0) + (below[i] ?? 0))
    return { ...line, below }
  })
}

/** The bucket that contains this time. */
export function bucketAt({ edges, to }: Plot, time: number): number | undefined {
  const next = edges.findIndex((edge) => edge > time)
  if (next > 0) return next - 1
  return time === to && edges.length > 1 ? edges.length - 2 : undefined
}

const [MINUTE, HOUR, DAY] = [60, 3_600, 86_400]
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 3, 7, 14, 30, 60, 120, 365].map((count) => count * DAY),
]
const TICK_WIDTH = 80

/** Round times for the axis, in the reader's time zone. */
export function timeTicks({ from, to, left, right }: Plot): { step: number; ticks: number[] } {
  const room = Math.max((right - left) / TICK_WIDTH, 1)
  const step = STEPS.find((length) => (to - from) / length <= room) ?? 365 * DAY
  const midnight = new Date(from * 1000)
  midnight.setHours(0, 0, 0, 0)
  const ticks: number[] = []
  for (let i = 0; ; i++) {
    const date = new Date(midnight)
    // Not every day has 24 hours.
    if (step >= DAY) date.setDate(date.getDate() + (i * step) / DAY)
    else date.setTime(date.getTime() + i * step * 1000)
    const time = date.getTime() / 1000
    if (time > to) return { step, ticks }
    if (time >= from) ticks.push(time)
  }
}

const MOST_VALUES = 5

/** Zero and a few round values above it. */
export function valueTicks(most: number): number[] {
  const rough = most / MOST_VALUES
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10)
  // A whole number of steps may come out slightly smaller.
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step)
}
