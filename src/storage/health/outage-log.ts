import type { Logger } from '../../lib/log.ts'
import { Outage } from '../../lib/work/outage.ts'
import { isAway } from '../failures.ts'
import { ReadTimeoutError } from '../read-limits.ts'
import { isDamaged } from '../sqlite/sqlite-thread.ts'
import type { WriteProbe } from './write-probe.ts'

const LOOK_EVERY_MS = 1_000
/** The statuses that requests get while the database is unavailable. */
const AWAY = new Set<unknown>([503, 504])

/**
 * The log for everything that uses the database. While the database is unavailable, its failures and failed requests
 * aren't logged one by one: the first failure is logged, and when the outage ends, the total number.
 */
export function outageLog(log: Logger, now: () => number, probe: WriteProbe): Logger {
  const outage = new Outage(log, now, {
    level: 'error',
    lost: 'the database is not available',
    back: 'the database is available again',
  })
  let looking: NodeJS.Timeout | undefined
  const look = async () => {
    if (await probe.problem()) return
    clearInterval(looking)
    looking = undefined
    outage.works()
  }
  return log.except(({ err, status }) => {
    // Most log entries are about successful requests.
    if (err === undefined && looking === undefined) return false
    const isCause = isAway(err) || isDamaged(err)
    if (!isCause && !(outage.isOn && (AWAY.has(status) || err instanceof ReadTimeoutError))) return false
    outage.failed(err)
    looking ??= setInterval(look, LOOK_EVERY_MS).unref()
    return true
  })
}
