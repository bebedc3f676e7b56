import type { Parts } from '../../operation/parts.ts'
import type { Database } from '../../storage/database.ts'
import * as webhooks from '../store.ts'
import type { Webhook } from '../webhook.ts'
import type { AttemptOutcome } from './attempt.ts'
import type { Attempt, Delivery } from './delivery.ts'
import * as queue from './delivery-queue.ts'
import { hasFailedTooLong, retryAt } from './retry-schedule.ts'

/** The result of an attempt. `outcome` is undefined if the attempt was interrupted; it then doesn't count. */
export type Report = { webhook: Webhook; delivery: queue.TakenDelivery; outcome: AttemptOutcome | undefined }

const ATTEMPTS_KEPT = 30
const GONE = 410

type RecordNeeds = Pick<Parts, 'events' | 'now'> & { random: () => number }

/**
 * Stores the results of attempts for one webhook, and disables it if necessary. Returns when failed deliveries are due
 * again and, if the last attempt succeeded, the webhook, which may have to be marked as working. Results from the
 * webhook's previous URL don't affect it.
 */
export async function recordAttempts(
  db: Database,
  reports: readonly Report[],
  parts: RecordNeeds,
): Promise<{ due: number[]; delivered: Webhook | undefined }> {
  const time = parts.now()
  const failed = reports.find(({ outcome }) => outcome && outcome.error !== null)
  const url = failed && (await webhooks.lockUrl(db, failed.webhook.id))
  const ended = reports.flatMap(({ webhook, delivery, outcome }) => {
    if (!outcome) return []
    const isOld = url !== undefined && url !== webhook.url
    return [{ webhook, delivery, outcome, isOld, after: after(delivery, outcome, isOld, time, parts.random) }]
  })
  const held = await queue.endAttempts(
    db,
    ended.map(({ delivery: { lease }, after: result }) => ({ lease, after: result })),
  )
  const due: number[] = []
  let delivered: Webhook | undefined
  for (const { webhook, delivery, outcome, isOld, after: result } of ended) {
    if (!held.has(delivery.id) || !wasSent(outcome)) continue
    if (result.status === 'delivered') delivered = webhook
    else if (!isOld) {
      if (delivered) await webhooks.recordSuccess(db, delivered)
      await recordFailure(db, webhook, outcome, parts)
      delivered = undefined
    }
    if (result.next_attempt_at !== null) due.push(result.next_attempt_at)
  }
  for (const { delivery, outcome } of reports) {
    if (outcome) continue
    await queue.release(db, delivery, time)
    due.push(time)
  }
  return { due, delivered }
}

/** Whether the receiver was called. An event that its agent withholds says nothing about the receiver. */
export function wasSent({ error }: AttemptOutcome): boolean {
  return error !== 'agent_closed'
}

async function recordFailure(
  db: Database,
  { id: webhook_id, project_id, agent_id }: Webhook,
  { at, response_status }: AttemptOutcome,
  { events, now }: RecordNeeds,
): Promise<void> {
  const time = now()
  const failing_since = await webhooks.recordFailure(db, webhook_id, at)
  const reason = response_status === GONE ? 'gone' : hasFailedTooLong(failing_since, time) ? 'failing' : undefined
  if (reason && (await webhooks.disable(db, webhook_id, reason, time))) {
    const data = () => ({ webhook_id, reason })
    await events.emit(db, { type: 'webhook.disabled', project_id, agent_id, data, time })
  }
}

/**
 * The delivery after another attempt. It isn't retried if the receiver replied 410 Gone or isn't allowed to get it. The
 * reply of a receiver at an old URL doesn't apply to the new URL.
 */
function after(
  delivery: Delivery,
  { retry_after_ms, ...result }: AttemptOutcome,
  isOld: boolean,
  now: number,
  random: () => number,
): queue.AfterAttempt {
  const tries = delivery.tries + 1
  const attempt_count = delivery.attempt_count + 1
  const attempts: Attempt[] = [...delivery.attempts, { attempt: attempt_count, ...result }].slice(-ATTEMPTS_KEPT)
  const counted = { tries, attempt_count, attempts }
  if (result.error === null) return { ...counted, status: 'delivered', next_attempt_at: null, delivered_at: now }

  const { delivered_at } = delivery
  const isGone = result.response_status === GONE && !isOld
  const isLast = isGone || result.error === 'agent_closed'
  const next_attempt_at = isLast ? null : retryAt(tries, isOld ? 0 : retry_after_ms, now, random)
  return { ...counted, status: next_attempt_at === null ? 'failed' : 'pending', next_attempt_at, delivered_at }
}
