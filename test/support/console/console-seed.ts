import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { KEPT_OPEN } from '../outside/local-server.ts'
import { until } from '../running/until.ts'
import type { Service } from '../service/service.ts'
import { uploaded } from '../slices/files.ts'

/**
 * Lets the example webhook call a receiver on this machine that doesn't exist, and gives the built-in models a price.
 */
export const SEED_SETTINGS = {
  MOORAGE_PRICES: JSON.stringify([
    { model: 'builtin/script', input: 3, output: 15 },
    { model: 'builtin/recall', input: 0.8, output: 4 },
  ]),
  MOORAGE_OUTGOING__ALLOW_INSECURE: 'true',
  MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.1',
}

/** All pages, by the names of their screenshots. */
export const PAGES = [
  'agents',
  'playground',
  'deployments',
  'deployment',
  'logs',
  'metrics',
  'memory',
  'schedules',
  'share',
  'triggers',
  'trigger',
  'settings',
  'settings-tools',
  'settings-yaml',
  'activity',
  'request',
  'approvals',
  'feedback',
  'files',
  'usage',
  'budgets',
  'prices',
  'system',
  'audit',
  'sessions',
  'configuration',
  'webhooks',
  'webhook',
  'delivery',
  'connections',
  'secrets',
  'keys',
  'key',
  'projects',
] as const

const HOUR_MS = 3_600_000

const ROPES = `Yes, we have **two** of 12 mm:

| Rope | A metre | In stock |
| --- | --- | --- |
| Polyester, braided | 3.20 | 140 m |
| Nylon, three strands | 2.80 | 65 m |

For a mooring take *nylon*: it stretches and spares your cleats. Measure like this:

1. the length of your boat,
2. a third more for each line.`

const SUPPORT = {
  name: 'support',
  description: 'Answers the customers of the shop',
  model: 'builtin/script',
  instructions: 'You answer the customers of a chandlery.\nBe brief and friendly.',
  script: {
    rules: [
      {
        match: { contains: 'refund' },
        reply: 'Your refund for order 4711 is on its way. It takes three to five days.',
      },
      { match: { contains: 'broken' }, fail: 'the stock system did not answer' },
      { match: { contains: 'rope' }, reply: ROPES },
    ],
    fallback: 'I can help with orders, refunds and stock. What do you need?',
  },
}

const CASHIER = {
  name: 'cashier',
  description: 'Pays money back, if somebody agrees',
  model: 'builtin/script',
  tools: [
    {
      type: 'http',
      name: 'refund',
      description: 'Pays money back',
      method: 'POST',
      url: 'https://shop.example.com/refunds',
      input_schema: {
        type: 'object',
        properties: {
          order: { type: 'string', description: 'The number of the order' },
          amount: { type: 'number', description: 'In euros' },
        },
        required: ['order', 'amount'],
      },
      headers: { Authorization: 'Bearer {{secret.SHOP_TOKEN}}' },
      approval: { when: [{ argument: 'amount', greater_than: 100 }] },
    },
  ],
  script: { rules: [{ call: { tool: 'refund', arguments: { order: '4711', amount: 250 } } }] },
}

const QUESTIONS = [
  'Where is my refund?',
  'Do you have a mooring rope of 12 mm?',
  'Hello!',
  'My winch is broken, can I send it back?',
  'How long does a refund take?',
]

/** Fills a service as it may look after a day of use. Returns the paths of the pages that show this. */
export async function fillForConsole(
  service: Service,
  { perHour = 3 } = {},
): Promise<Record<(typeof PAGES)[number], string>> {
  const post = async (path: string, given: object) => {
    const { status, text, body } = await service.call('POST', path, { body: given })
    assert.ok(status < 300, text)
    return body.data
  }
  service.advance(-24 * HOUR_MS)
  const { webhook, key, trigger } = await beginDay(service, post)
  const deployment = await spendDay(service, post, perHour)

  const note = { content: 'Her boat is a Folkeboat of 7.7 m', context: { user_id: 'customer-3' } }
  await post('/v1/agents/support/memory', { items: [note] })
  const say = (message: string) =>
    post('/v1/agents/support/invoke', { message, context: { user_id: 'customer-3', session_id: 'order-4720' } })
  await say('Hello!')
  const { request_id: request } = await say('Which mooring rope of 12 mm do you have for my boat?')
  const opinion = { score: -1, comment: 'That is a rope for anchors' }
  const rated = await service.call('PUT', `/v1/agents/support/invocations/${request}/feedback`, { body: opinion })
  assert.equal(rated.status, 200, rated.text)
  await uploaded(service, 'berth,metres\n4,7.7', { type: 'text/csv', query: '?name=berths.csv&user_id=customer-3' })
  await uploaded(service, 'Bought at Chandler: rope, 12.50', { type: 'text/plain', query: '?name=receipt.txt' })
  const delivery = await until('the event of a failed run is on its way', async () => {
    const { body } = await service.call('GET', `/v1/webhooks/${webhook}/deliveries?limit=1`)
    return body.data[0]?.id as string | undefined
  })
  return {
    agents: '/',
    playground: '/agents/support?session=order-4720',
    deployments: '/agents/support/deployments',
    deployment: `/deployments/${deployment}`,
    logs: '/agents/support/logs',
    metrics: '/agents/support/metrics',
    memory: '/agents/support/memory',
    schedules: '/agents/support/schedules',
    share: '/agents/support/share',
    triggers: '/agents/support/triggers',
    trigger: `/agents/support/triggers/${trigger}`,
    settings: '/agents/support/settings',
    'settings-tools': '/agents/cashier/settings?view=tools',
    'settings-yaml': '/agents/support/settings?view=yaml',
    activity: '/activity',
    request: `/activity/${request}`,
    approvals: '/approvals',
    feedback: '/feedback',
    files: '/files',
    usage: '/usage',
    budgets: '/usage/budgets',
    prices: '/usage/prices',
    system: '/system',
    audit: '/system?view=audit',
    sessions: '/system?view=sessions',
    configuration: '/system?view=settings',
    webhooks: '/webhooks',
    webhook: `/webhooks/${webhook}`,
    delivery: `/deliveries/${delivery}`,
    connections: '/connections',
    secrets: '/connections?view=secrets',
    keys: '/keys',
    projects: '/projects',
    key: `/keys/${key}`,
  }
}

// The shape of a reply isn't checked here.
// oxlint-disable-next-line typescript/no-explicit-any
type Post = (path: string, given: object) => Promise<any>

/** Agents, keys, a webhook and schedules. */
async function beginDay(service: Service, post: Post): Promise<Record<'webhook' | 'key' | 'trigger', string>> {
  await post('/v1/agents', SUPPORT)
  await post('/v1/agents', { name: 'concierge', description: 'Knows its guests', model: 'builtin/recall' })
  await post('/v1/agents', { name: 'night-watch', description: 'Reads the tide tables', model: 'builtin/echo' })
  await service.call('PATCH', '/v1/agents/night-watch', { body: { status: 'paused' } })
  const { id: webhook } = await post('/v1/webhooks', { url: 'http://127.0.0.1:4999/hook', events: ['agent.failed'] })
  const put = (path: string, body: object) => service.call('PUT', path, { body })
  await put('/v1/providers/local', { base_url: await startModelList(), api_key: 'not-a-key' })
  await put('/v1/secrets/SHOP_TOKEN', { value: 'not-a-token', hosts: ['shop.example.com'] })
  await post('/v1/keys', { name: 'shop backend', role: 'caller' })
  const { id: key } = await post('/v1/keys', { name: 'reports', role: 'viewer', agent_id: 'support' })
  const support = { type: 'agent', id: 'support' }
  await post('/v1/budgets', { name: 'Support, monthly', scope: support, limit: { cost_usd: 2 }, per: 'month' })
  await post('/v1/budgets', { name: 'Each customer', scope: { type: 'user' }, limit: { runs: 1_000 }, per: 'ever' })
  await deploySupport(service, post, 'v1.0.0', 'production', 'First release', {})
  await post('/v1/agents', CASHIER)
  await post('/v1/agents/cashier/invoke', { message: 'Please give me a refund', context: { user_id: 'customer-3' } })
  await post('/v1/agents/support/schedules', {
    name: 'Morning round',
    cron: '0 9 * * MON-FRI',
    timezone: 'Europe/Berlin',
    message: 'Which orders came in over night?',
  })
  await post('/v1/agents/support/schedules', { every: '6h', message: 'Look for refunds that wait' })
  await post('/v1/agents/support/links', { name: 'Questions about ropes', limits: { cost_usd: 5 } })
  const { id: trigger } = await post('/v1/agents/support/triggers', {
    name: 'Orders',
    message: 'New order: {{/item}}',
    verify: { scheme: 'none' },
    user_from: '/customer',
  })
  return { webhook, key, trigger }
}

/** A server that lists its models as long as this process lives. */
async function startModelList(): Promise<string> {
  const data = ['harbour-7b', 'lighthouse-mini', 'tide-embed'].map((id) => ({ id }))
  const server = createServer(KEPT_OPEN, (_request, response) => response.end(JSON.stringify({ data }))).unref()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}

/** Customers ask, and new versions are deployed. Returns the ID of the deployment that serves production. */
async function spendDay(service: Service, post: Post, perHour: number): Promise<string> {
  let deployment = ''
  const deploy = (version: string, environment: string, message: string, change: object) =>
    deploySupport(service, post, version, environment, message, change)
  for (let hour = 0; hour < 24; hour++) {
    if (hour === 8) await deploy('v1.1.0', 'staging', 'Knows the stock', { temperature: 0.3 })
    if (hour === 12) deployment = await deploy('v1.1.0', 'production', 'Knows the stock', {})
    if (hour === 18) await deploy('v1.2.0', 'staging', 'Shorter answers', { temperature: 0.2 })
    for (let i = 0; i < perHour; i++) {
      const at = hour * perHour + i
      const context = { user_id: `customer-${at % 7}`, session_id: `order-${4700 + (at % 12)}` }
      const message = QUESTIONS[at % QUESTIONS.length]
      const agent = at % 4 === 3 ? 'concierge' : 'support'
      await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message, context } })
      service.advance(HOUR_MS / perHour)
    }
  }
  return deployment
}

async function deploySupport(
  service: Service,
  post: Post,
  version: string,
  environment: string,
  message: string,
  change: object,
): Promise<string> {
  if (Object.keys(change).length > 0) await service.call('PATCH', '/v1/agents/support', { body: change })
  return (await post('/v1/agents/support/deployments', { environment, version, message })).id
}
