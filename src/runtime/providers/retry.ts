import { setTimeout as sleep } from 'node:timers/promises'
import type { Deadline } from '../deadline.ts'
import { ModelFailure } from '../models/model.ts'
import type { Log } from '../outcome.ts'

const RETRIES = 3

/** Retries after temporary failures, if the wait ends before the deadline. */
export async function withRetries<Result>(
  attempt: () => Promise<Result>,
  { deadline, log, delayMs }: { deadline: Deadline; log: Log; delayMs: number },
): Promise<Result> {
  for (let retry = 1; ; retry += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof ModelFailure) || !error.retry || retry > RETRIES || deadline.stopped) throw error
      // Jitter prevents many waiting runs from retrying at the same moment.
      const backoff = delayMs * 2 ** (retry - 1) * (0.75 + Math.random() / 2)
      const wait = Math.max(error.retry.after_ms ?? 0, backoff)
      if (wait >= deadline.remaining()) throw error
      log('warn', `${error.message} Trying again.`, { ...error.detail, retry, wait_ms: Math.round(wait) })
      await sleep(wait, undefined, { signal: deadline.signal })
    }
  }
}

/** The wait in whole milliseconds from `Retry-After` (seconds or a date), or from `retry-after-ms`. */
export function retryAfter(
  headers: Record<string, string | string[] | undefined>,
  now: () => number,
): number | undefined {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN)
  if (milliseconds >= 0) return bounded(milliseconds)
  const value = headers['retry-after']
  if (typeof value !== 'string') return undefined
  if (/^\d+(?:\.\d+)?$/.test(value)) return bounded(Number(value) * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : bounded(date - now())
}

/** If a provider names a longer wait, it is ignored. */
const MAX_WAIT_MS = 24 * 60 * 60 * 1000

function bounded(ms: number): number {
  return Math.min(Math.max(0, Math.ceil(ms)), MAX_WAIT_MS)
}
