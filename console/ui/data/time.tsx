import { signal } from '@preact/signals'
import { agoText, exactText } from '../../lib/text/format.ts'

/** All relative times on the page are updated at each tick. */
const tick = signal(0)
setInterval(() => {
  if (!document.hidden) tick.value++
}, 15_000)

/** A relative time. The exact time is shown on hover. */
export function Ago({ time }: { time: string | null }) {
  if (time === null) return <span class="soft">never</span>
  void tick.value
  return (
    <time dateTime={time} title={exactText(time)}>
      {agoText(time, Date.now())}
    </time>
  )
}
