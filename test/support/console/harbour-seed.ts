import assert from 'node:assert/strict'
import { until } from '../running/until.ts'
import type { Service } from '../service/service.ts'
import { uploaded } from '../slices/files.ts'
import { cashier, PILOT, purser, SUPPORT } from './harbour-agents.ts'
import type { HarbourWorld } from './harbour-world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** The IDs of what the pages show. */
export type Harbour = Record<
  'well' | 'broken' | 'reports' | 'told' | 'waiting' | 'unfit' | 'paid' | 'rope' | 'deployment',
  string
>

// The shape of a reply isn't checked here.
// oxlint-disable-next-line typescript/no-explicit-any
type Send = (method: string, path: string, body?: object, key?: string) => Promise<any>

/** Fills a service with some of everything, as after a day of use. Nothing in it depends on how long this takes. */
export async function fillHarbour(service: Service, world: HarbourWorld): Promise<Harbour> {
  const { clock } = world
  const send: Send = async (method, path, body, key = service.admin) => {
    clock.pass(1_000)
    const reply = await service.call(method, path, { key, ...(body && { body }) })
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`)
    return reply.body?.data
  }
  const { backend, reports } = await setUp(send, world)
  const { deployment, rope } = await sellAllDay(send, clock, backend)
  const { waiting, paid, unfit } = await workWithTools(service, send, backend)
  const { well, broken, told } = await tellWebhooks(service, send, world)
  await keepThings(service, send)
  clock.pass(7 * MINUTE_MS)
  return { well, broken, reports, told, waiting, unfit, paid, rope, deployment }
}

/** Agents, connections, keys and budgets. */
async function setUp(send: Send, { shop, model, clock }: HarbourWorld) {
  await send('PUT', '/v1/providers/local', {
    base_url: model.url,
    api_key: 'not-a-key',
    vision: { 'harbour-7b': true },
  })
  await send('PUT', '/v1/providers/anthropic', {
    type: 'anthropic',
    base_url: `${shop}/stock`,
    api_key: 'not-a-key-either',
  })
  await send('PUT', '/v1/secrets/SHOP_TOKEN', { value: 'not-a-token', hosts: ['shop.example.com', '127.0.0.1'] })
  await send('PUT', '/v1/secrets/UNUSED', { value: 'nothing', hosts: ['api.example.org'] })
  await send('POST', '/v1/agents', SUPPORT)
  await send('POST', '/v1/agents', { name: 'concierge', description: 'Knows its guests', model: 'builtin/recall' })
  await send('POST', '/v1/agents', { name: 'night-watch', description: 'Reads the tide tables', model: 'builtin/echo' })
  await send('PATCH', '/v1/agents/night-watch', { status: 'paused' })
  await send('POST', '/v1/agents', PILOT)
  await send('POST', '/v1/agents', cashier(shop))
  await send('POST', '/v1/agents', purser(shop))
  await send('PUT', '/v1/secrets/FERRY_SECRET', {
    value: `whsec_${Buffer.alloc(24, 7).toString('base64')}`,
    hosts: ['127.0.0.1'],
  })
  const remote = { url: `${shop}/stock/ask`, secret: 'FERRY_SECRET', timeout_ms: 20_000 }
  await send('POST', '/v1/agents', { name: 'ferry', kind: 'remote', description: 'Runs on the other side', remote })
  const backend = await send('POST', '/v1/keys', { name: 'shop backend', role: 'caller' })
  const reports = await send('POST', '/v1/keys', { name: 'reports', role: 'viewer', agent_id: 'support' })
  const expires_at = new Date(clock.now() + HOUR_MS).toISOString()
  await send('POST', '/v1/keys', { name: 'for an hour', permissions: ['read', 'invoke'], expires_at })
  const lost = await send('POST', '/v1/keys', { name: 'lost laptop', role: 'developer' })
  await send('DELETE', `/v1/keys/${lost.id}`)
  const support = { type: 'agent', id: 'support' }
  const monthly = {
    name: 'Support, monthly',
    scope: support,
    limit: { cost_usd: 2 },
    per: 'month',
    thresholds: [50, 90],
  }
  await send('POST', '/v1/budgets', { ...monthly, timezone: 'Europe/Berlin' })
  await send('POST', '/v1/budgets', {
    name: 'Each customer',
    scope: { type: 'user' },
    limit: { runs: 12 },
    per: 'ever',
  })
  const project = { type: 'project' }
  await send('POST', '/v1/budgets', {
    name: 'All',
    scope: project,
    limit: { tokens: 1_500 },
    per: 'day',
    action: 'notify',
  })
  return { backend: backend.secret as string, reports: reports.id as string }
}

const QUESTIONS = [
  'Where is my refund?',
  'Do you have a mooring rope of 12 mm?',
  'Hello!',
  'My winch is broken, can I send it back?',
  'How long does a refund take?',
]

async function sellAllDay(send: Send, clock: HarbourWorld['clock'], backend: string) {
  const deploy = (version: string, environment: string, message: string | null) =>
    send('POST', '/v1/agents/support/deployments', { environment, version, message })
  await deploy('v1.0.0', 'production', 'First release')
  for (let hour = 0; hour < 24; hour++) {
    if (hour === 8) await send('PATCH', '/v1/agents/support', { temperature: 0.3 })
    if (hour === 8) await deploy('v1.1.0', 'staging', 'Knows the stock')
    if (hour === 12) await deploy('v1.1.0', 'production', 'Knows the stock')
    for (let i = 0; i < 1 + (hour % 3); i++) {
      const context = { user_id: `customer-${hour % 5}`, session_id: `order-${4700 + hour}` }
      const agent = hour % 4 === 3 ? 'concierge' : 'support'
      const message = QUESTIONS[(hour + i) % QUESTIONS.length]
      await send('POST', `/v1/agents/${agent}/invoke`, { message, context }, backend).catch(() => {})
    }
    clock.pass(HOUR_MS)
  }
  await send('PATCH', '/v1/agents/support', { temperature: 0.2 })
  const bad = await deploy('v1.2.0', 'production', 'Shorter answers')
  await send('POST', `/v1/agents/support/deployments/${bad.id}/rollback`, { message: 'Too short' })
  await send('PATCH', '/v1/agents/support', { instructions: 'You answer the customers of a chandlery.\nBe brief.' })
  const context = { user_id: 'customer-3', session_id: 'order-4720', lang: 'en' }
  await send('POST', '/v1/agents/support/invoke', { message: 'Hello!', context })
  const message = 'Which mooring rope of 12 mm do you have for my boat?'
  const { request_id: rope } = await send('POST', '/v1/agents/support/invoke', { message, context })
  const feedback = `/v1/agents/support/invocations/${rope}/feedback`
  await send('PUT', feedback, { score: -1, comment: 'That is a rope for anchors' })
  await send('PUT', feedback, { score: 0.5, key: 'tone' })
  return { deployment: bad.id as string, rope: rope as string }
}

/** Runs that call tools, wait for people, answer with values, fail and are cancelled. */
async function workWithTools(service: Service, send: Send, backend: string) {
  const ask = (message: string) =>
    send('POST', '/v1/agents/cashier/invoke', { message, context: { user_id: 'customer-7' } }, backend)
  await ask('Pay back 250')
  const waiting = await send('POST', '/v1/agents/purser/invoke', { message: 'Count the stock' })
  const paid = await ask('Pay back 30')
  await ask('Is it in stock?').catch(() => {})
  await ask('Which harbour?')
  const rejected = await ask('Pay back 999')
  const [approval] = (await service.call('GET', `/v1/approvals?request_id=${rejected.request_id}`)).body.data
  const at = `/v1/agents/cashier/invocations/${rejected.request_id}/approvals/${approval.call_id}`
  await send('POST', at, { decision: 'reject', note: 'Ask the harbour master first' })
  await until('the rejected run has ended', async () => {
    const { body } = await service.call('GET', `/v1/agents/cashier/invocations/${rejected.request_id}`)
    return body.data.status === 'completed' || body.data.status === 'failed'
  })
  await send('POST', '/v1/agents/pilot/invoke', { message: 'When is high water?', context: { user_id: 'ada' } })
  const reply = await service.call('POST', '/v1/agents/pilot/invoke', { body: { message: 'As a list, please' } })
  return {
    waiting: waiting.request_id as string,
    paid: paid.request_id as string,
    unfit: String(reply.body.error?.request_id ?? reply.body.data?.request_id),
  }
}

/** Events that arrive, events that are refused, and a webhook that is disabled. */
async function tellWebhooks(service: Service, send: Send, { inbox }: HarbourWorld) {
  const well = await send('POST', '/v1/webhooks', {
    url: `${inbox}/well`,
    events: ['agent.completed', 'agent.failed'],
    agent_id: 'support',
    description: 'The board of the shop',
  })
  await send('POST', `/v1/webhooks/${well.id}/test`)
  await send('POST', '/v1/agents/support/invoke', { message: 'Where is my refund?' })
  const delivered = async () => {
    const { body } = await service.call('GET', `/v1/webhooks/${well.id}/deliveries?status=delivered`)
    return body.data.find(({ event }: { event: string }) => event === 'agent.completed')
  }
  const { id: told } = await until('the event has arrived', delivered)
  // It receives only test events, because other events would arrive at any moment and advance the clock.
  const broken = await send('POST', '/v1/webhooks', { url: `${inbox}/broken`, events: ['project.deleted'] })
  await send('POST', `/v1/webhooks/${broken.id}/test`)
  const off = await send('POST', '/v1/webhooks', { url: 'https://example.com/hook', events: ['deployment.created'] })
  await send('PATCH', `/v1/webhooks/${off.id}`, { status: 'disabled' })
  await send('POST', `/v1/webhooks/${well.id}/rotate-secret`, { grace_period_seconds: 3_600 })
  return { well: well.id as string, broken: broken.id as string, told: told as string }
}

/** Notes, files and schedules. */
async function keepThings(service: Service, send: Send) {
  const note = { content: 'Her boat is a Folkeboat of 7.7 m', kind: 'note', context: { user_id: 'customer-3' } }
  await send('POST', '/v1/agents/support/memory', {
    items: [note, { content: 'The shop closes at 18:00', kind: 'fact' }],
  })
  await uploaded(service, 'berth,metres\n4,7.7', { type: 'text/csv', query: '?name=berths.csv&user_id=customer-3' })
  await send('GET', '/v1/files')
  await uploaded(service, 'Bought at Chandler: rope, 12.50', { type: 'text/plain', query: '?name=receipt.txt' })
  const schedules = '/v1/agents/support/schedules'
  await send('POST', schedules, {
    name: 'Morning round',
    cron: '0 9 * * MON-FRI',
    timezone: 'Europe/Berlin',
    message: 'Which orders came in over night?',
    overlap: 'queue',
    catch_up: 'one',
    on_budget: 'wait',
  })
  await send('POST', schedules, { every: '6h', message: 'Look for refunds that wait', environment: 'staging' })
  const once = await send('POST', schedules, { at: '2026-03-28T22:30:00Z', message: 'The clocks change tonight' })
  await send('PATCH', `${schedules}/${once.id}`, { enabled: false })
}
