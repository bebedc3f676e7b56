import { useEffect, useState } from 'preact/hooks'
import { zonedText } from '../../lib/text/format.ts'

const SHOWN = 3
/** The library would search centuries for a day that never comes. So it gets only a few years, one at a time. */
const YEARS = 5

/** The next times of a pattern while it is being typed. An invalid pattern is reported when it is saved. */
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
  // In the time zone, it may already be another year.
  for (let at = year - 1; at <= year + YEARS && found.length < SHOWN; at++) {
    found.push(...new Cron(`0 ${fields} ${at}`, { timezone: zone, mode: '7-part' }).nextRuns(SHOWN - found.length))
  }
  return found
}
