// Sends events to a receiver that misbehaves, moves the clock to the next attempt, and says what is wrong.
import { createHmac } from 'node:crypto'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { until } from '../../support/running/until.ts'
import { type Engine, type Service, startService } from '../../support/service/service.ts'
import { pass } from '../../support/slices/webhooks.ts'
import {
  type Act,
  type Arrival,
  type Attempt,
  type HostileReceiver,
  isFair,
  openHostileReceiver,
  performanceOf,
  statusOf,
  wishOf,
} from './hostile-receiver.ts'
import type { HostileStage } from './hostile-stage.ts'

/** How long an attempt may take. */
const ATTEMPT_MS = 1_000 * PATIENCE

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
/** docs/webhooks.md: "immediately, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, each ±20%". */
const WAITS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]
const JITTER = 0.2
/** "All deliveries failed for five days." */
const GIVES_UP_MS = 5 * 24 * HOUR
/** The clock of PostgreSQL cannot be held: it goes on during an attempt. */
const TOLERANCE: Record<Engine, number> = { sqlite: 1, postgres: 3 * SECOND }

/** Each has a clock of its own, which is moved from attempt to attempt. */
export async function openReceiverStage(engine: Engine): Promise<HostileStage> {
  const receiver = await openHostileReceiver()
  const services = new Map<number, Promise<Service>>()
  const open = async () => {
    const timeout = { MOORAGE_WEBHOOKS__ATTEMPT_TIMEOUT: `${ATTEMPT_MS}ms` }
    const service = await startService(engine, { ...LOCAL_TOOLS, ...timeout, LOG_LEVEL: 'error' })
    service.holdClock()
    await service.call('POST', '/v1/agents', { body: { name: 'mate' } })
    return service
  }
  return {
    async ask(seed, place) {
      const opened = services.get(place) ?? open()
      services.set(place, opened)
      const act = receiver.begin(performanceOf(seed))
      const wrong = await deliver(await opened, receiver, act)
      if (receiver.elsewhere.came.length > 0) wrong.push('a redirect to another host was followed')
      return wrong.map((one) => `seed ${seed}, attempt ${act.arrivals.length} (${shown(act)}): ${one}`)
    },
    async close() {
      await Promise.all([...services.values()].map(async (service) => (await service).stop())).finally(receiver.close)
    },
  }
}

const shown = ({ performance, arrivals }: Act) => {
  const { manners, retryAfter } = performance.attempts[Math.max(0, arrivals.length - 1)] as Attempt
  return manners.join(', ') + (retryAfter === null ? '' : `, Retry-After ${retryAfter}`)
}

async function deliver(service: Service, { url }: HostileReceiver, act: Act): Promise<string[]> {
  const body = { url: `${url}/${act.performance.seed}`, events: ['agent.completed'], agent_id: 'mate' }
  const { id, secret } = (await service.call('POST', '/v1/webhooks', { body })).body.data
  await service.call('POST', '/v1/agents/mate/invoke', { body: { message: 'go' } })
  const wrong: string[] = []
  const began = service.now()
  const tolerance = TOLERANCE[service.engine]
  for (const [i, attempt] of act.performance.attempts.entries()) {
    const at = service.now()
    const delivery = await until(`attempt ${i + 1} of ${act.performance.seed}`, async () => {
      const [only] = (await service.call('GET', `/v1/webhooks/${id}/deliveries`)).body.data
      return only?.attempt_count === i + 1 && only
    })
    const arrival = act.arrivals[i]
    if (act.arrivals.length !== i + 1 || !arrival) return [`${act.arrivals.length} attempts have arrived`]
    wrong.push(...wrongArrival(arrival, act.arrivals[0] as Arrival, { secret, attempt: i + 1, at, tolerance }))
    wrong.push(...wrongOutcome(delivery, attempt, i, { now: service.now(), tolerance }))
    const webhook = (await service.call('GET', `/v1/webhooks/${id}`)).body.data
    const isGone = statusOf(attempt) === 410 && delivery.attempts.at(-1).response_status === 410
    if (isGone !== (webhook.disabled_reason === 'gone')) wrong.push(`the webhook is ${webhook.disabled_reason}`)
    const hasGivenUp = webhook.disabled_reason === 'failing'
    if (hasGivenUp && service.now() - began < GIVES_UP_MS) wrong.push('it was disabled too early')
    if (wrong.length > 0 || hasGivenUp || delivery.status !== 'pending') break
    const due = Date.parse(delivery.next_attempt_at)
    pass(service, due - service.now())
  }
  try {
    await until('the connections to the receiver', () => act.busy.size === 0, 3_000)
  } catch {
    wrong.push(`${act.busy.size} answers are still being read`)
  }
  await service.call('DELETE', `/v1/webhooks/${id}`)
  return wrong
}

/** docs/webhooks.md, "Receive and verify". */
function wrongArrival(
  { headers, body }: Arrival,
  first: Arrival,
  { secret, attempt, at, tolerance }: { secret: string; attempt: number; at: number; tolerance: number },
): string[] {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const signed = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  const wrong: string[] = []
  if (signature !== `v1,${signed}`) wrong.push('webhook-signature is not that of the body')
  if (headers['x-service-signature'] !== createHmac('sha256', secret).update(body).digest('hex'))
    wrong.push('X-Service-Signature is not that of the body')
  if (Math.abs(Number(timestamp) * SECOND - at) > SECOND + tolerance)
    wrong.push(`it was signed at ${timestamp}, sent at ${at}`)
  if (headers['x-service-attempt'] !== String(attempt)) wrong.push(`it says attempt ${headers['x-service-attempt']}`)
  if (id !== first.headers['webhook-id'] || body !== first.body) wrong.push('another event has arrived')
  return wrong
}

type Delivery = {
  status: string
  next_attempt_at: string | null
  attempts: { error: string | null; response_status: number | null }[]
}

function wrongOutcome(
  { status, next_attempt_at, attempts }: Delivery,
  attempt: Attempt,
  i: number,
  { now, tolerance }: { now: number; tolerance: number },
): string[] {
  const { error, response_status } = attempts.at(-1) as Delivery['attempts'][number]
  if (isFair(attempt)) return status === 'delivered' ? [] : [`a fair answer is ${status}: ${error}`]
  if (error === 'internal') return ['the error is internal']
  const isRefused = statusOf(attempt) >= 400 && response_status === statusOf(attempt)
  const isLast = i === WAITS.length || (isRefused && statusOf(attempt) === 410)
  // What is foul may have been read all the same.
  if (status === 'delivered') return statusOf(attempt) < 300 ? [] : [`${statusOf(attempt)} counts as delivered`]
  if (isLast) return status === 'failed' ? [] : [`it is ${status} after its last attempt`]
  if (status !== 'pending' || next_attempt_at === null) return [`it is ${status}, and should be sent again`]
  const planned = WAITS[i] as number
  const wished = wishOf(attempt) ?? 0
  const waits = Date.parse(next_attempt_at) - now
  const [least, most] = [planned * (1 - JITTER), planned * (1 + JITTER)]
  const mayWish = isRefused || error === 'redirect' ? wished : 0
  const isPlanned = waits >= Math.max(least, mayWish) - tolerance && waits <= Math.max(most, mayWish) + tolerance
  return isPlanned ? [] : [`it waits ${waits} ms after attempt ${i + 1}, the receiver asked for ${mayWish}`]
}
