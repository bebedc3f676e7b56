import type { Parts } from '../../operation/parts.ts'
import { signingSecrets, type Webhook } from '../webhook.ts'
import { attempt, type Outcome } from './attempt.ts'
import * as queue from './delivery-queue.ts'
import { createLanes, type Turn } from './lanes.ts'
import { type Report, settle } from './settle.ts'

/** Sends what the outbox holds, until it is stopped. */
export type Dispatcher = {
  /** What is under way may finish for `grace_ms`; what has not by then is given back unsent. */
  stop(grace_ms: number): Promise<void>
}

type House = Pick<
  Parts,
  'config' | 'storage' | 'events' | 'keyring' | 'webhookFetch' | 'newId' | 'now' | 'log' | 'node'
>

/** Beyond the attempt itself: time to write down how it ended. */
const LEASE_MARGIN_MS = 5_000
const BUSY_MS = 100
const TROUBLE_MS = 1_000
/** Finds what a node that died has left, and what became due because somebody set the clock. */
const SURVEY_MS = 15_000

/**
 * A delivery is taken with a lease, sent once, and settled. Whoever dies in between leaves a lease that ends, and then
 * the delivery is due again: it may arrive twice, but never not at all. The database is asked only about webhooks that
 * have something due, and only for as many deliveries as may start, so a long queue costs neither memory nor time.
 */
export function startDispatcher(house: House, random: () => number = Math.random): Dispatcher {
  const { config, storage, events, now, log } = house
  const lanes = createLanes(config.webhooks)
  const reports = new Map<string, Report[]>()
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
    soon ??= setImmediate(takeTurns)
  }

  const takeTurns = () => {
    clearImmediate(soon)
    clearTimeout(timer)
    soon = undefined
    const time = now()
    for (const turn of lanes.turns(time)) track(serve(turn))
    const wait = lanes.nextTurn(time) - time
    if (wait < SURVEY_MS && !stopped) timer = setTimeout(look, wait)
  }

  /** One transaction hands in what has ended and takes what may start. */
  const serve = async (turn: Turn) => {
    const { webhook_id } = turn
    const ended = reports.get(webhook_id) ?? []
    reports.delete(webhook_id)
    let started = 0
    try {
      const { due_at, taken } = await storage.transaction(async (db) => {
        const times: (number | null)[] = []
        for (const report of ended) times.push(await settle(db, report, { events, now, random }))
        return { due_at: times, taken: turn.places > 0 ? await takeDue(db, turn) : undefined }
      })
      for (const time of due_at) if (time !== null) lanes.bringForward(webhook_id, time)
      if (taken?.state === 'busy') lanes.bringForward(webhook_id, now() + BUSY_MS)
      if (taken?.state === 'taken') {
        started = taken.deliveries.length
        if (taken.next_at !== null) lanes.bringForward(webhook_id, taken.next_at)
        lanes.judge(webhook_id, taken.webhook.failing_since !== null)
        for (const delivery of taken.deliveries) track(send(taken.webhook, delivery))
      }
    } catch (err) {
      // What could not be handed in is sent again when its lease ends.
      log.warn({ err, webhook_id }, 'could not settle or take webhook deliveries')
      lanes.bringForward(webhook_id, now() + TROUBLE_MS)
    }
    lanes.looked(turn, started)
    look()
  }

  const takeDue = (db: Parts['storage']['db'], { webhook_id, places }: Turn) => {
    const { maxPerEndpoint, attemptTimeout } = config.webhooks
    const time = now()
    const lease_until = time + attemptTimeout + LEASE_MARGIN_MS
    const owner = `${house.node}:${house.newId('job', time)}`
    return queue.takeDue(db, { webhook_id, limit: places, maxPerEndpoint, owner, lease_until, now: time })
  }

  const send = async (webhook: Webhook, delivery: queue.TakenDelivery) => {
    const outcome = await tryOnce(house, webhook, delivery, abort.signal)
    if (outcome) lanes.judge(webhook.id, outcome.error !== null)
    reports.set(webhook.id, [...(reports.get(webhook.id) ?? []), { webhook, delivery, outcome }])
    lanes.ended(webhook.id)
    look()
  }

  const survey = async () => {
    try {
      for (const { webhook_id, due_at } of await queue.survey(storage.db)) lanes.bringForward(webhook_id, due_at)
    } catch (err) {
      log.warn({ err }, 'could not look for webhook deliveries that are due')
    }
    look()
  }

  events.onWake((webhook_ids) => {
    if (stopped) return
    if (!webhook_ids) return track(survey())
    for (const webhook_id of webhook_ids) lanes.bringForward(webhook_id, now())
    look()
  })
  track(survey())
  const surveying = setInterval(() => track(survey()), SURVEY_MS)

  return {
    async stop(grace_ms) {
      stopped = true
      lanes.close()
      clearInterval(surveying)
      const patience = setTimeout(() => abort.abort(), grace_ms)
      do {
        takeTurns()
        await Promise.all(working)
      } while (working.size + reports.size > 0)
      clearTimeout(patience)
      clearImmediate(soon)
    },
  }
}

/** One attempt, whatever comes of it; undefined when the stop of the service ended it. */
async function tryOnce(
  { config, webhookFetch, keyring, now, log }: House,
  webhook: Webhook,
  { id, event_id, event, body, attempt_count }: queue.TakenDelivery,
  signal: AbortSignal,
): Promise<Outcome | undefined> {
  const at = now()
  try {
    const secrets = signingSecrets(webhook, keyring, at)
    const message = { url: webhook.url, event_id, event, body, attempt: attempt_count + 1, secrets }
    return await attempt(webhookFetch, message, {
      timeout_ms: config.webhooks.attemptTimeout,
      now,
      owner: webhook.agent_id ?? webhook.id,
      signal,
    })
  } catch (err) {
    if (signal.aborted) return undefined
    log.error({ err, webhook_id: webhook.id, delivery_id: id }, 'a webhook delivery could not be attempted')
    return { at, duration_ms: 0, response_status: null, error: 'internal', retry_after_ms: 0 }
  }
}
