import { findSnapshot } from '../../agents/agent-snapshot.ts'
import { laneKey, ownerOf } from '../../lib/work/lane-key.ts'
import { Worker } from '../../lib/work/worker.ts'
import type { Parts } from '../../operation/parts.ts'
import type { Database } from '../../storage/database.ts'
import { newOwner } from '../../storage/leases/lease.ts'
import { recordSuccess } from '../store.ts'
import { signingSecrets, type Webhook } from '../webhook.ts'
import { type AttemptOutcome, attempt } from './attempt.ts'
import { sentBody, sentHeaders } from './callback-message.ts'
import * as queue from './delivery-queue.ts'
import { type Report, recordAttempts, wasSent } from './record-attempt.ts'
import { isWithheld } from './withheld.ts'

type DeliveryParts = Pick<
  Parts,
  'config' | 'storage' | 'findProject' | 'memo' | 'events' | 'keyring' | 'webhookFetch' | 'now' | 'log' | 'node'
>

/** A delivery that this node is sending, and the webhook that receives it. */
type SentDelivery = { webhook: Webhook; delivery: queue.TakenDelivery }

/** How much longer than the attempt its lease lasts, so there is time to store the result. */
const LEASE_MARGIN_MS = 5_000

/**
 * Sends the deliveries in the database until it is stopped. A delivery is taken with a lease, sent once, and its result
 * is stored. If the node dies in between, the lease ends and the delivery is due again, so a delivery may arrive twice
 * but is never lost. Each webhook has a lane. Only webhooks with due deliveries are queried, and only for as many
 * deliveries as may start, so a long queue costs neither memory nor time.
 */
export class Dispatcher {
  readonly #parts: DeliveryParts
  readonly #random: () => number
  readonly #worker: Worker<SentDelivery, Report>
  readonly #abort = new AbortController()

  constructor(parts: DeliveryParts, random: () => number = Math.random) {
    const { config, events, log, now, storage } = parts
    const { maxInFlight, maxPerEndpoint } = config.webhooks
    this.#parts = parts
    this.#random = random
    this.#worker = new Worker({
      share: { total: maxInFlight, ofLane: () => maxPerEndpoint },
      serve: (lane, places, ended) => this.#serve(lane, places, ended),
      run: (sent, lane) => this.#send(sent, lane),
      async survey() {
        const due = await queue.survey(storage.db)
        return due.map(({ project_id, webhook_id, due_at }) => ({ key: laneKey(project_id, webhook_id), due_at }))
      },
      // Results that couldn't be stored are kept and stored later, before anything else is sent to the webhook.
      failed: (err) => log.warn({ err }, 'could not store or fetch webhook deliveries'),
      now,
    })
    events.onWake((lanes) => {
      if (!lanes) return this.#worker.survey()
      for (const lane of lanes) this.#worker.wake(lane)
    })
    this.#worker.survey()
  }

  /** Deliveries in progress can finish within `grace_ms`. The others are released unsent. */
  async stop(grace_ms: number): Promise<void> {
    const patience = setTimeout(() => this.#abort.abort(), grace_ms)
    await this.#worker.close()
    clearTimeout(patience)
  }

  /** One transaction stores the results of ended deliveries and takes new ones. */
  async #serve(lane: string, places: number, ended: readonly Report[]) {
    const webhook_id = ownerOf(lane)
    const { recorded, taken } = await this.#parts.storage.transaction(async (db) => {
      const stored = await recordAttempts(db, ended, { ...this.#parts, random: this.#random })
      const due = places > 0 ? await this.#takeDue(db, webhook_id, places) : undefined
      const isKnownWell = due?.webhook?.failing_since === null
      if (stored.delivered && !isKnownWell) await recordSuccess(db, stored.delivered)
      return { recorded: stored, taken: due }
    })
    for (const time of recorded.due) this.#worker.wake(lane, time)
    const { webhook, items = [], next } = taken ?? {}
    // Another node has found that the receiver is failing.
    if (webhook && webhook.failing_since !== null && !recorded.delivered) this.#worker.report(lane, 'failed')
    return { items: webhook ? items.map((delivery) => ({ webhook, delivery })) : [], next }
  }

  #takeDue(db: Database, webhook_id: string, limit: number): Promise<queue.TakenDeliveries> {
    const { config, node, now } = this.#parts
    const { maxPerEndpoint, attemptTimeout } = config.webhooks
    const time = now()
    const owner = newOwner(node)
    const lease_until = time + attemptTimeout + LEASE_MARGIN_MS
    return queue.takeDue(db, { webhook_id, limit, maxPerEndpoint, owner, lease_until, now: time })
  }

  async #send({ webhook, delivery }: SentDelivery, lane: string): Promise<Report> {
    const outcome = await this.#tryOnce(webhook, delivery)
    if (outcome && wasSent(outcome)) this.#worker.report(lane, outcome.error === null ? 'well' : 'failed')
    return { webhook, delivery, outcome }
  }

  /** Makes one attempt. Returns undefined if it was interrupted because the service stops. */
  async #tryOnce(webhook: Webhook, delivery: queue.TakenDelivery): Promise<AttemptOutcome | undefined> {
    const { config, webhookFetch, keyring, now, log } = this.#parts
    const { id, event_id, event, body, attempt_count } = delivery
    const { signal } = this.#abort
    const at = now()
    const unsent = { at, duration_ms: 0, response_status: null, retry_after_ms: 0 }
    try {
      // The agent may have started to require checks of its callers after the event was stored.
      const agent_id = webhook.agent_id === null ? delivery.agent_id : null
      const snapshot = agent_id === null ? undefined : await findSnapshot(agent_id, this.#parts)
      if (snapshot && isWithheld(snapshot.agent)) {
        return { ...unsent, error: 'agent_closed' }
      }
      const secrets = signingSecrets(webhook, keyring, at)
      const sent = { body: sentBody(webhook, body), headers: sentHeaders(webhook, keyring) }
      const message = { url: webhook.url, event_id, event, ...sent, attempt: attempt_count + 1, secrets }
      const owner = webhook.agent_id ?? webhook.id
      return await attempt(webhookFetch, message, { timeout_ms: config.webhooks.attemptTimeout, now, owner, signal })
    } catch (err) {
      if (signal.aborted) return undefined
      log.error({ err, webhook_id: webhook.id, delivery_id: id }, 'a webhook delivery could not be attempted')
      return { ...unsent, error: 'internal' }
    }
  }
}
