import type { Parts } from '../../operation/parts.ts'
import type { Database } from '../../storage/database.ts'
import { recordSuccess } from '../store.ts'
import { signingSecrets, type Webhook } from '../webhook.ts'
import { type AttemptOutcome, attempt } from './attempt.ts'
import { sentBody, sentHeaders } from './callback-message.ts'
import * as queue from './delivery-queue.ts'
import { Lanes, type Look } from './lanes.ts'
import { type Report, recordAttempts } from './record-attempt.ts'

type House = Pick<
  Parts,
  'config' | 'storage' | 'events' | 'keyring' | 'webhookFetch' | 'newId' | 'now' | 'log' | 'node'
>

/** How much longer than the attempt its lease lasts, so that the result can be stored. */
const LEASE_MARGIN_MS = 5_000
const BUSY_MS = 100
const TROUBLE_MS = 1_000
/**
 * How often the database is searched for deliveries that a dead node has left, or that are due because the clock was
 * set.
 */
const SURVEY_MS = 15_000

/**
 * Sends the deliveries in the database until it is stopped. A delivery is taken with a lease, sent once, and its result
 * is stored. If the node dies in between, the lease ends and the delivery is due again. It may arrive twice, but is
 * never lost. The database is asked only about webhooks that have a delivery due, and only for as many deliveries as
 * may start, so that a long queue costs neither memory nor time.
 */
export class Dispatcher {
  readonly #house: House
  readonly #random: () => number
  /** What this node knows about deliveries. Everything else is in the database. */
  readonly #lanes: Lanes<Report>
  readonly #working = new Set<Promise<void>>()
  readonly #abort = new AbortController()
  readonly #surveying: NodeJS.Timeout
  #isStopping = false
  #soon: NodeJS.Immediate | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(house: House, random: () => number = Math.random) {
    this.#house = house
    this.#random = random
    this.#lanes = new Lanes(house.config.webhooks)
    this.#surveying = setInterval(() => this.#track(this.#survey()), SURVEY_MS)
    house.events.onWake((webhook_ids) => this.#wake(webhook_ids))
    this.#track(this.#survey())
  }

  /** Deliveries under way may finish for `grace_ms`. The others are given back unsent. */
  async stop(grace_ms: number): Promise<void> {
    this.#isStopping = true
    this.#lanes.close()
    clearInterval(this.#surveying)
    const patience = setTimeout(() => this.#abort.abort(), grace_ms)
    do {
      this.#lookNow()
      await Promise.all(this.#working)
    } while (this.#working.size > 0 || !this.#lanes.isIdle)
    clearTimeout(patience)
    clearImmediate(this.#soon)
  }

  #wake(webhook_ids: ReadonlySet<string> | undefined): void {
    if (this.#isStopping) return
    if (!webhook_ids) return this.#track(this.#survey())
    for (const webhook_id of webhook_ids) this.#lanes.bringForward(webhook_id, this.#house.now())
    this.#lookSoon()
  }

  /** Asks the database which webhooks have something to send, and when. */
  async #survey(): Promise<void> {
    const { storage, log } = this.#house
    try {
      for (const { webhook_id, due_at } of await queue.survey(storage.db)) this.#lanes.bringForward(webhook_id, due_at)
    } catch (err) {
      log.warn({ err }, 'could not look for webhook deliveries that are due')
    }
    this.#lookSoon()
  }

  #lookSoon(): void {
    this.#soon ??= setImmediate(() => this.#lookNow())
  }

  #lookNow(): void {
    clearImmediate(this.#soon)
    clearTimeout(this.#timer)
    this.#soon = undefined
    const time = this.#house.now()
    for (const look of this.#lanes.looks(time)) this.#track(this.#serve(look))
    const wait = this.#lanes.nextLook(time) - time
    if (wait < SURVEY_MS && !this.#isStopping) this.#timer = setTimeout(() => this.#lookSoon(), wait)
  }

  /** One transaction stores the results of ended deliveries and takes new ones. */
  async #serve(look: Look<Report>): Promise<void> {
    const { storage, now, log } = this.#house
    const { webhook_id, ended, places } = look
    let started = 0
    try {
      const { due, taken, isWell } = await storage.transaction(async (db) => {
        const recorded = await recordAttempts(db, ended, { ...this.#house, random: this.#random })
        const next = places > 0 ? await this.#takeDue(db, look) : undefined
        const isKnown = next?.state === 'taken' && next.webhook.failing_since === null
        if (recorded.isDelivered && !isKnown) await recordSuccess(db, webhook_id)
        return { due: recorded.due, taken: next, isWell: recorded.isDelivered }
      })
      for (const time of due) this.#lanes.bringForward(webhook_id, time)
      if (taken?.state === 'busy') this.#lanes.bringForward(webhook_id, now() + BUSY_MS)
      if (taken?.state === 'taken') {
        started = taken.deliveries.length
        if (taken.next_at !== null) this.#lanes.bringForward(webhook_id, taken.next_at)
        this.#lanes.judge(webhook_id, taken.webhook.failing_since !== null && !isWell)
        for (const delivery of taken.deliveries) this.#track(this.#send(taken.webhook, delivery))
      }
    } catch (err) {
      // A delivery whose result could not be stored is sent again when its lease ends.
      log.warn({ err, webhook_id }, 'could not settle or take webhook deliveries')
      this.#lanes.bringForward(webhook_id, now() + TROUBLE_MS)
    }
    this.#lanes.looked(look, started)
    this.#lookSoon()
  }

  #takeDue(db: Database, { webhook_id, places }: Look<Report>): Promise<queue.Taken> {
    const { config, node, newId, now } = this.#house
    const { maxPerEndpoint, attemptTimeout } = config.webhooks
    const time = now()
    const owner = `${node}:${newId('job', time)}`
    const lease_until = time + attemptTimeout + LEASE_MARGIN_MS
    return queue.takeDue(db, { webhook_id, limit: places, maxPerEndpoint, owner, lease_until, now: time })
  }

  async #send(webhook: Webhook, delivery: queue.TakenDelivery): Promise<void> {
    const outcome = await this.#tryOnce(webhook, delivery)
    if (outcome) this.#lanes.judge(webhook.id, outcome.error !== null)
    this.#lanes.ended(webhook.id, { webhook, delivery, outcome })
    this.#lookSoon()
  }

  /** Makes one attempt. Returns undefined when the service's stop ended it. */
  async #tryOnce(webhook: Webhook, delivery: queue.TakenDelivery): Promise<AttemptOutcome | undefined> {
    const { config, webhookFetch, keyring, now, log } = this.#house
    const { id, event_id, event, body, attempt_count } = delivery
    const { signal } = this.#abort
    const at = now()
    try {
      const secrets = signingSecrets(webhook, keyring, at)
      const sent = { body: sentBody(webhook, body), headers: sentHeaders(webhook, keyring) }
      const message = { url: webhook.url, event_id, event, ...sent, attempt: attempt_count + 1, secrets }
      const owner = webhook.agent_id ?? webhook.id
      return await attempt(webhookFetch, message, { timeout_ms: config.webhooks.attemptTimeout, now, owner, signal })
    } catch (err) {
      if (signal.aborted) return undefined
      log.error({ err, webhook_id: webhook.id, delivery_id: id }, 'a webhook delivery could not be attempted')
      return { at, duration_ms: 0, response_status: null, error: 'internal', retry_after_ms: 0 }
    }
  }

  /** The stop waits for all tracked work. */
  #track(work: Promise<void>): void {
    this.#working.add(work)
    work.finally(() => this.#working.delete(work))
  }
}
