import type { Parts } from '../operation.ts'
import { attempt, type Outcome } from './attempt.ts'
import * as deliveries from './delivery-store.ts'
import { createLanes, type Turn } from './lanes.ts'
import { settle } from './settle.ts'
import { signingSecrets, type Webhook } from './webhook.ts'

/** Sends what the outbox holds, until it is stopped. */
export type Dispatcher = {
  /** What is under way may finish for `grace_ms`; what has not by then is given back unsent. */
  stop(grace_ms: number): Promise<void>
}

type House = Pick<Parts, 'config' | 'storage' | 'events' | 'keyring' | 'fetch' | 'newId' | 'now' | 'log'>

/** Beyond the attempt itself: time to write down how it ended. */
const LEASE_MARGIN_MS = 5_000
const BUSY_MS = 100
const TROUBLE_MS = 1_000
/** Finds what a node that died has left, and what became due because somebody set the clock. */
const SURVEY_MS = 15_000

/**
 * A delivery is claimed with a lease, sent once, and settled. Whoever dies in between leaves a lease that ends, and then
 * the delivery is due again: it may arrive twice, but never not at all. The database is asked only about webhooks that
 * have something due, and only for as many deliveries as may start, so a long queue costs neither memory nor time.
 */
export function startDispatcher(house: House, random: () => number = Math.random): Dispatcher {
  const { config, storage, events, now, log } = house
  const lanes = createLanes(config.webhooks)
  const working = new Set<Promise<void>>()
  const abort = new AbortController()
  let stopped = false
  let soon: NodeJS.Immediate | undefined
  let timer: NodeJS.Timeout | undefined

  const track = (work: Promise<void>) => {
    working.add(work)
    work.finally(() => working.delete(work))
  }

  const look = () => {
    if (!stopped) soon ??= setImmediate(takeTurns)
  }

  const takeTurns = () => {
    soon = undefined
    clearTimeout(timer)
    const time = now()
    for (const turn of lanes.turns(time)) track(serve(turn))
    const wait = lanes.nextTurn(time) - time
    if (wait < SURVEY_MS) timer = setTimeout(look, wait)
  }

  const serve = async (turn: Turn) => {
    const { webhook_id } = turn
    let started = 0
    try {
      const claim = await claimDue(house, turn)
      if (claim.state === 'busy') lanes.bringForward(webhook_id, now() + BUSY_MS)
      if (claim.state === 'claimed') {
        const { webhook, next_at } = claim
        started = claim.deliveries.length
        lanes.judge(webhook_id, webhook.failing_since !== null)
        if (next_at !== null) lanes.bringForward(webhook_id, next_at)
        for (const delivery of claim.deliveries) track(send(webhook, delivery))
      }
    } catch (err) {
      log.warn({ err, webhook_id }, 'could not claim webhook deliveries')
      lanes.bringForward(webhook_id, now() + TROUBLE_MS)
    }
    lanes.looked(turn, started)
    look()
  }

  const send = async (webhook: Webhook, delivery: deliveries.Claimed) => {
    try {
      const outcome = await tryOnce(house, webhook, delivery, abort.signal)
      if (outcome) {
        lanes.judge(webhook.id, outcome.error !== null)
        const next_at = await settle(house, webhook, delivery, outcome, random)
        if (next_at !== null) lanes.bringForward(webhook.id, next_at)
      } else {
        await deliveries.release(storage.db, delivery, now())
      }
    } catch (err) {
      log.warn({ err, webhook_id: webhook.id, delivery_id: delivery.id }, 'could not settle a webhook delivery')
    }
    lanes.ended(webhook.id)
    look()
  }

  const survey = async () => {
    try {
      for (const { webhook_id, due_at } of await deliveries.survey(storage.db)) lanes.bringForward(webhook_id, due_at)
    } catch (err) {
      log.warn({ err }, 'could not look for webhook deliveries that are due')
    }
    look()
  }

  const begin = async () => {
    // One process serves a SQLite database: a lease in it belongs to one that died.
    if (storage.engine === 'sqlite') await deliveries.releaseAll(storage.db, now())
    await survey()
  }

  track(begin().catch((err) => log.warn({ err }, 'could not take up the webhook deliveries of the last run')))
  const surveying = setInterval(() => track(survey()), SURVEY_MS)
  events.onWake((webhook_ids) => {
    if (stopped) return
    if (!webhook_ids) return track(survey())
    for (const webhook_id of webhook_ids) lanes.bringForward(webhook_id, now())
    look()
  })

  return {
    async stop(grace_ms) {
      stopped = true
      clearInterval(surveying)
      clearImmediate(soon)
      clearTimeout(timer)
      const patience = setTimeout(() => abort.abort(), grace_ms)
      while (working.size > 0) await Promise.all(working)
      clearTimeout(patience)
    },
  }
}

function claimDue({ config, storage, newId, now }: House, { webhook_id, places }: Turn): Promise<deliveries.Claim> {
  const { maxPerEndpoint, attemptTimeout } = config.webhooks
  const time = now()
  const options = {
    webhook_id,
    limit: places,
    maxPerEndpoint,
    lease: newId('job', time),
    lease_until: time + attemptTimeout + LEASE_MARGIN_MS,
    now: time,
  }
  return storage.transaction((db) => deliveries.claim(db, options))
}

/** One attempt, whatever comes of it; undefined when the stop of the service ended it. */
async function tryOnce(
  { config, fetch, keyring, now, log }: House,
  webhook: Webhook,
  { id, event_id, event, body, attempt_count }: deliveries.Claimed,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const at = now()
  try {
    const secrets = signingSecrets(webhook, keyring, at)
    const message = { url: webhook.url, event_id, event, body, attempt: attempt_count + 1, secrets }
    return await attempt(fetch, message, { timeout_ms: config.webhooks.attemptTimeout, now, signal })
  } catch (err) {
    if (signal.aborted) return undefined
    log.error({ err, webhook_id: webhook.id, delivery_id: id }, 'a webhook delivery could not be attempted')
    return { at, duration_ms: 0, response_status: null, error: 'internal', retry_after_ms: 0 }
  }
}
