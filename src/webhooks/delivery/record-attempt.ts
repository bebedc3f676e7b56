import type { Parts } from '../../operation/parts.ts'
import type { Database } from '../../storage/database.ts'
import * as webhooks from '../store.ts'
import type { Webhook } from '../webhook.ts'
import type { AttemptOutcome } from './attempt.ts'
import type { Attempt, Delivery } from './delivery.ts'
import * as queue from './delivery-queue.ts'
import { hasFailedTooLong, retryAt } from './retry-schedule.ts'

/** The result of an attempt. `outcome` is undefined when the attempt was cut short and does not count. */
export type Report = { webhook: Webhook; delivery: queue.TakenDelivery; outcome: AttemptOutcome | undefined }

const ATTEMPTS_KEPT = 30
const GONE = 410

/**
 * Stores the result of an attempt, and disables the webhook if needed. Returns when the delivery is due again, or null.
 */
export async function recordAttempt(
  db: Database,
  { webhook: { id: webhook_id, agent_id }, delivery, outcome }: Report,
  { events, now, random }: Pick<Parts, 'events' | 'now'> & { random: () => number },
): Promise<number | null> {
  const time = now()
  if (!outcome) {
    await queue.release(db, delivery, time)
    return time
  }
  const ended = after(delivery, outcome, time, random)
  const isOurs = await queue.endAttempt(db, delivery, ended)
  if (!isOurs) return null
  if (ended.status === 'delivered') {
    await webhooks.recordSuccess(db, webhook_id)
    return null
  }
  const failing_since = await webhooks.recordFailure(db, webhook_id, outcome.at)
  const isGone = outcome.response_status === GONE
  const reason = isGone ? 'gone' : hasFailedTooLong(failing_since, time) ? 'failing' : undefined
  if (reason && (await webhooks.disable(db, webhook_id, reason, time))) {
    await events.emit(db, { type: 'webhook.disabled', agent_id, data: () => ({ webhook_id, reason }), time })
  }
  return ended.next_attempt_at
}

/** The delivery after one more attempt. If the receiver answered 410 Gone, it is not tried again. */
function after(
  delivery: Delivery,
  { retry_after_ms, ...result }: AttemptOutcome,
  now: number,
  random: () => number,
): queue.AfterAttempt {
  const tries = delivery.tries + 1
  const attempt_count = delivery.attempt_count + 1
  const attempts: Attempt[] = [...delivery.attempts, { attempt: attempt_count, ...result }].slice(-ATTEMPTS_KEPT)
  const counted = { tries, attempt_count, attempts }
  if (result.error === null) return { ...counted, status: 'delivered', next_attempt_at: null, delivered_at: now }

  const { delivered_at } = delivery
  const next_attempt_at = result.response_status === GONE ? null : retryAt(tries, retry_after_ms, now, random)
  return { ...counted, status: next_attempt_at === null ? 'failed' : 'pending', next_attempt_at, delivered_at }
}
