import { type Marker, type PlacedLine, type Plot, timeTicks, valueTicks } from './plot.ts'

const WIDEST_BAR = 40
const BAR_SHARE = 0.8
/** More dots than this would look like a thick line. */
const MOST_DOTS = 150
/** The approximate width of a letter in a marker. */
const LETTER = 6.5

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Midnight is shown as the date. */
function timeText(seconds: number, step: number): string {
  const date = new Date(seconds * 1000)
  const isDay = step >= 86_400 || (date.getHours() === 0 && date.getMinutes() === 0)
  return (isDay ? day : clock).format(date)
}

export function Axes({ plot, format }: { plot: Plot; format(value: number): string }) {
  const { step, ticks } = timeTicks(plot)
  const { left, right, top, bottom, most } = plot
  return (
    <>
      {valueTicks(most).map((value) => (
        <g key={value} class="tick">
          <path d={`M${left} ${plot.y(value)}H${right}`} />
          <text x={left - 8} y={plot.y(value) + 4} text-anchor="end">
            {format(value)}
          </text>
        </g>
      ))}
      {ticks.map((time) => (
        <g key={time} class="tick">
          <path d={`M${plot.x(time)} ${top}V${bottom}`} />
          <text x={plot.x(time)} y={bottom + 17} text-anchor={plot.x(time) > right - 20 ? 'end' : 'middle'}>
            {timeText(time, step)}
          </text>
        </g>
      ))}
    </>
  )
}

export function bars(plot: Plot, { values, below }: PlacedLine): string {
  return values
    .map((value, i) => {
      if (!value) return ''
      const room = plot.x(plot.edges[i + 1] ?? plot.to) - plot.x(plot.edges[i] ?? 0)
      const width = Math.max(Math.min(room * BAR_SHARE, WIDEST_BAR), 1)
      const foot = below[i] ?? 0
      return `M${short(plot.middle(i) - width / 2)} ${short(plot.y(foot))}V${short(plot.y(foot + value))}h${short(width)}V${short(plot.y(foot))}z`
    })
    .join('')
}

/** A curve that continues across missing values. */
export function curve(plot: Plot, line: PlacedLine): string {
  return pointsOf(plot, line)
    .map((point, i) => `${i === 0 ? 'M' : 'L'}${point}`)
    .join('')
}

export function dots(plot: Plot, line: PlacedLine): string {
  const points = pointsOf(plot, line)
  return points.length > MOST_DOTS ? '' : points.map((point) => `M${point}h0`).join('')
}

function pointsOf(plot: Plot, { values }: PlacedLine): string[] {
  return values.flatMap((value, i) => (value === null ? [] : [`${short(plot.middle(i))} ${short(plot.y(value))}`]))
}

function short(pixels: number): string {
  return pixels.toFixed(1)
}

export function Markers({ plot, markers }: { plot: Plot; markers: Marker[] }) {
  const { left, right, top, bottom } = plot
  let free = 0
  return (
    <>
      {markers
        .toSorted((a, b) => a.at - b.at)
        .map(({ at, label }) => {
          const x = plot.x(at / 1000)
          if (x < left || x > right) return null
          // A label that would cover the previous label is left out. Its line is still drawn.
          const width = label.length * LETTER + 8
          const hasRoom = x >= free && x + width <= right
          if (hasRoom) free = x + width
          return (
            <g key={`${at} ${label}`} class="marker">
              <path d={`M${x} ${top}V${bottom}`} />
              {hasRoom && (
                <text x={x + 4} y={top + 10}>
                  {label}
                </text>
              )}
            </g>
          )
        })}
    </>
  )
}
