import type { Schedule } from '../../../sdk/client.ts'
import { exactText } from '../../lib/text/format.ts'

/** When a schedule ticks, as it was written. */
export function whenText({ cron, timezone, every, at }: Pick<Schedule, 'cron' | 'timezone' | 'every' | 'at'>): string {
  if (cron) return `${cron} (${timezone ?? 'UTC'})`
  if (every) return `every ${every}`
  return at ? `once, ${exactText(at)}` : ''
}
