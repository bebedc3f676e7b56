import { signal } from '@preact/signals'
import { agoText, exactText } from '../../lib/text/format.ts'

/** One clock for every relative time on the page. */
const now = signal(Date.now())
setInterval(() => {
  if (!document.hidden) now.value = Date.now()
}, 15_000)

/** A relative time; the exact one is shown on hover. */
export function Ago({ time }: { time: string | null }) {
  if (time === null) return <span class="soft">never</span>
  return (
    <time dateTime={time} title={exactText(time)}>
      {agoText(time, Math.max(now.value, Date.now() - 15_000))}
    </time>
  )
}
