import { useEffect, useState } from 'preact/hooks'
import { zonedText } from '../../lib/text/format.ts'

const SHOWN = 3
/** The library searches centuries for a day that never comes. So it is given a few years, one after the other. */
const YEARS = 5

/** When a pattern comes next, while it is typed. An invalid pattern is reported when it is saved. */
export function NextTimes({ cron, timezone }: { cron: string; timezone: string }) {
  const [times, setTimes] = useState<Date[]>([])
  useEffect(() => {
    let isCurrent = true
    nextTimes(cron, timezone).then(
      (found) => isCurrent && setTimes(found),
      () => isCurrent && setTimes([]),
    )
    return () => {
      isCurrent = false
    }
  }, [cron, timezone])
  return (
    <p class="hint" role="status">
      {times.length > 0 &&
        `Next: ${times.map((time) => zonedText(time, timezone.trim())).join('; ')} (${timezone.trim()})`}
    </p>
  )
}

async function nextTimes(cron: string, timezone: string): Promise<Date[]> {
  const { Cron } = await import('croner')
  const zone = timezone.trim()
  const fields = new Cron(cron.trim(), { timezone: zone, mode: '5-part' }).getPattern()
  const year = new Date().getUTCFullYear()
  const found: Date[] = []
  // The year may be another one in the time zone.
  for (let at = year - 1; at <= year + YEARS && found.length < SHOWN; at++) {
    found.push(...new Cron(`0 ${fields} ${at}`, { timezone: zone, mode: '7-part' }).nextRuns(SHOWN - found.length))
  }
  return found
}
