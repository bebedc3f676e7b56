import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import type { NewEvent } from '../../../src/events.ts'
import { partsOf } from '../inside.ts'
import { receive } from '../outside/receiver.ts'
import { until, untilCounted } from '../running/until.ts'
import type { Service } from '../service/service.ts'

/** Lets webhooks call receivers on this machine. */
export const LOCAL_RECEIVERS = {
  MOORAGE_OUTGOING__ALLOW_INSECURE: 'true',
  MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.1',
}

export type Arrival = { path: string; headers: IncomingHttpHeaders; body: string }

export type Inbox = {
  url: string
  arrivals: Arrival[]
  /** The first `count` arrivals, once they have arrived. */
  first(count: number): Promise<Arrival[]>
}

/** A receiver that records what arrives. `answer` decides the reply, which is 200 by default. */
export async function openInbox(
  t: TestContext,
  answer: (arrival: Arrival, ...exchange: Parameters<RequestListener>) => unknown = () => {},
): Promise<Inbox> {
  const arrivals: Arrival[] = []
  const { url } = await receive(t, async (request, response) => {
    const body = (await buffer(request)).toString()
    const arrival = { path: request.url ?? '', headers: request.headers, body }
    arrivals.push(arrival)
    await answer(arrival, request, response)
    if (!response.writableEnded) response.end()
  })
  const first = async (count: number) => {
    await untilCounted('deliveries', count, () => arrivals.length)
    return arrivals.slice(0, count)
  }
  return { url, arrivals, first }
}

/** Creates a webhook. Returns its record and secret. */
export async function createWebhook(service: Service, fields: Record<string, unknown>) {
  const { status, body, text } = await service.call('POST', '/v1/webhooks', {
    body: { events: ['agent.completed'], ...fields },
  })
  assert.equal(status, 201, text)
  return body.data as { id: string; secret: string; url: string }
}

export async function createAgent(service: Service): Promise<string> {
  const { status, body, text } = await service.call('POST', '/v1/agents', { body: { name: uniqueName() } })
  assert.equal(status, 201, text)
  return body.data.id
}

export function uniqueName(): string {
  return `a${randomBytes(6).toString('hex')}`
}

type EventInput = Partial<Omit<NewEvent, 'data'>> & { agent_id: string; data?: object }

/** Emits events, which commit as they would with their cause. */
export async function happen(service: Service, ...happened: EventInput[]) {
  const { now } = service
  const { events, journal } = partsOf(service)
  for (const { data = { request_id: 'req_1' }, ...event } of happened) {
    const told = { type: 'agent.completed' as const, project_id: 'prj_default' }
    const writes = await events.writes({ ...told, data: () => data, time: now(), ...event })
    assert.equal(await journal.commit({ writes }), true)
  }
}

/** Moves the clock, and lets the dispatcher notice. */
export function pass(service: Service, ms: number): void {
  service.advance(ms)
  partsOf(service).events.wake()
}

export async function listDeliveries(service: Service, webhook_id: string, query = '') {
  const { status, body, text } = await service.call('GET', `/v1/webhooks/${webhook_id}/deliveries${query}`)
  assert.equal(status, 200, text)
  // Each test asserts the shape itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  return body.data as any[]
}

/** The webhook's only delivery, once it has had this many attempts. */
export function delivery(service: Service, webhook_id: string, attempts: number) {
  return until(`attempt ${attempts}`, async () => {
    const [only] = await listDeliveries(service, webhook_id)
    return only?.attempt_count === attempts && only
  })
}
