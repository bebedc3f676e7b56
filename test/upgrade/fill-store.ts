import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { newShell } from '../support/clients/cli.ts'
import { enrol } from '../support/clients/mfa.ts'
import { PersonTab } from '../support/console/person-tab.ts'
import { rowsOf, wakeJobs } from '../support/inside.ts'
import type { OidcIssuer } from '../support/outside/oidc-issuer.ts'
import { until } from '../support/running/until.ts'
import { uploaded } from '../support/slices/files.ts'
import { FULL_AGENT, REMOTE_AGENT } from '../support/tour/agents.ts'
import { makeCrew } from '../support/tour/crew.ts'
import type { Tour } from '../support/tour/tour.ts'
import type { World } from '../support/tour/world.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const ANN = { user_id: 'ann', session_id: 'monday' }
const BOB = { user_id: 'bob', session_id: 'tuesday' }
const ASYNC = { Prefer: 'respond-async' }
const IN_NORTH = { 'Moorage-Project': 'north' }
const IN_SOUTH = { 'Moorage-Project': 'south' }
const GRACE = { grace_period_seconds: 7 * 24 * 3600 }

/** What a client of the store has kept. All of it was made for the fixture. */
export type Kept = {
  keys: Record<'admin' | 'reader' | 'developer' | 'developerBefore', string>
  /** The second factor of the key `guarded`. */
  mfa: { key: string; secret: string }
  /** The sessions of the administrator and of a person. Their names end with the port of the service. */
  cookies: Record<'admin' | 'person', string>
  /** A keyed request that was answered. */
  keyed: { path: string; headers: Record<string, string>; body: object; request_id: string }
  webhook: { id: string; secret: string }
  /** A run that waits for an answer. */
  waiting: string
  /** A background run in a paused project. */
  paused: string
  listener: string
}

type Scene = { told: Tour; world: World; issuer: OidcIssuer }

/** Leads a new service through all that it can store. Its clock goes on for a day and a few hours. */
export async function fillStore({ told, world, issuer }: Scene): Promise<Kept> {
  const ask: Ask = async (method, path, body, headers = {}) => {
    const reply = await told.call(method, path, { ...(body && { body }), headers })
    assert.ok(reply.status < 400, `${method} ${path} ${reply.status} ${reply.text}`)
    return reply.body?.data
  }
  const invoke = (agent: string, message: string, more: object = {}, headers = {}) =>
    ask('POST', `/v1/agents/${agent}/invoke`, { message, ...more }, headers)
  const becomes = (agent: string, id: string, status: string) =>
    until(`the run of ${agent} is ${status}`, async () => {
      wakeJobs(told.service)
      const { body } = await told.service.call('GET', `/v1/agents/${agent}/invocations/${id}`)
      return body.data.status === status
    })

  await makeCrew(told, world)
  const rateLimit = { enabled: true, requests: 100_000, window: '2m' }
  await ask('POST', '/v1/agents', { ...FULL_AGENT, security: { ...FULL_AGENT.security, rateLimit } })
  await ask('POST', '/v1/agents', REMOTE_AGENT)
  await deployFromFolder(told)
  await ask('PUT', '/v1/prices/harbour/large', { input: 2, cached_input: 0.2, output: 8 })
  await ask('PUT', '/v1/secrets/TIDES', { value: 'tide-password', hosts: ['tides.example.com'] })
  await ask('PUT', '/v1/providers/harbour', {
    base_url: 'https://models.example.com/v1',
    api_key: 'sk-harbour-1234567890',
  })

  const hook = `${world.place.url}/hook`
  const webhook = await ask('POST', '/v1/webhooks', { url: hook, events: ['*'], description: 'Everything' })
  const broken = { url: `${world.place.url}/broken`, agent_id: 'captain', events: ['agent.failed'] }
  await ask('POST', '/v1/webhooks', broken)
  const rotated = await ask('POST', `/v1/webhooks/${webhook.id}/rotate-secret`, GRACE)

  const day = { scope: { type: 'agent', id: 'pilot' }, limit: { cost_usd: 5 }, per: 'day', thresholds: [1, 90] }
  await ask('POST', '/v1/budgets', { name: 'daily', timezone: 'Europe/Berlin', ...day })
  await ask('POST', '/v1/budgets', { name: 'each', scope: { type: 'user' }, limit: { tokens: 90_000 }, per: 'ever' })
  await ask('POST', '/v1/budgets', { name: 'runs', scope: { type: 'project' }, limit: { runs: 1000 }, per: 'month' })

  await deployments(ask)
  await memories(ask)
  await runsOfEachKind({ ask, invoke, becomes })
  const tide = await uploaded(told.service, 'The tide turns at noon.\n', {
    type: 'text/plain',
    query: '?name=tide.txt&user_id=ann',
  })
  await uploaded(told.service, 'a,b\n1,2\n', { type: 'text/csv', query: '?name=table.csv&expires_in_seconds=2000000' })
  const attachments = [{ file_id: tide }]
  await invoke('pilot', 'What does it say?', { attachments, context: ANN })
  const schedule = {
    name: 'tides',
    message: 'Read the tides',
    cron: '0 6 * * *',
    timezone: 'Europe/Berlin',
    attachments,
    context: ANN,
  }
  const { id: scheduled } = await ask('POST', '/v1/agents/hello/schedules', schedule)
  await ask('POST', `/v1/agents/hello/schedules/${scheduled}/run`)
  await ask('POST', '/v1/agents/hello/schedules', { message: 'Every hour', every: '9h', context: ANN, enabled: false })

  // The next day: what is recent becomes sums, and the schedule runs.
  told.time += DAY
  await until('what was recent is summed', async () => {
    wakeJobs(told.service)
    const counted = await rowsOf(told.service, 'version_metrics')
    const recent = (counted as { minutes: number; start: number }[]).filter(({ minutes }) => minutes === 0)
    return recent.every(({ start }) => start * 60_000 > told.time - HOUR)
  })
  await until('every memory has a vector', async () => {
    told.time += 10_000
    wakeJobs(told.service)
    const [vectors, all] = await Promise.all([rowsOf(told.service, 'memory_vectors'), rowsOf(told.service, 'memories')])
    return vectors.length === all.length
  })

  const keyed = {
    path: '/v1/agents/hello/invoke',
    headers: { 'Idempotency-Key': 'a-key-of-the-fixture' },
    body: { message: 'only once', context: ANN },
  }
  const { request_id } = await ask('POST', keyed.path, keyed.body, keyed.headers)
  const rated = await invoke('pilot', 'How is the weather?', { context: BOB })
  const rating = { score: -0.5, comment: 'It rained' }
  await ask('PUT', `/v1/agents/pilot/invocations/${rated.request_id}/feedback`, rating)
  await ask('PUT', '/v1/agents/pilot/sets/weather', { from: { request_ids: [rated.request_id] } })
  await invoke('captain', 'how is the weather at sea?')

  const paused = await otherProjects(ask)
  const { keys, mfa } = await makeKeys(told, ask)
  const cookies = await signIn(told, issuer, ask)
  const waiting = await invoke(
    'asking',
    'May we leave?',
    { context: ANN, callback: { url: hook, token: 'my-token' } },
    ASYNC,
  )
  await becomes('asking', waiting.request_id, 'waiting')
  const deleted = await ask('POST', '/v1/agents', { name: 'gone' })
  await invoke('gone', 'farewell')
  await ask('DELETE', `/v1/agents/${deleted.id}`)
  const listener = await ask('POST', '/v1/listeners', { agent_id: 'hello', events: ['agent.completed'] })
  await invoke('hello', 'can you hear me?')
  await until('no webhook waits for its first attempt', async () => {
    const rows = (await rowsOf(told.service, 'deliveries')) as {
      status: string
      attempt_count: number
      webhook_id: string
    }[]
    return rows.every((row) => row.status !== 'pending' || row.attempt_count > 0 || row.webhook_id === listener.id)
  })
  return {
    keys: { admin: told.service.admin, ...keys },
    mfa,
    cookies,
    keyed: { ...keyed, request_id },
    webhook: { id: webhook.id, secret: rotated.secret },
    waiting: waiting.request_id,
    paused,
    listener: listener.id,
  }
}

// oxlint-disable-next-line typescript/no-explicit-any
type Ask = (method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<any>
type Invoke = (agent: string, message: string, more?: object, headers?: object) => ReturnType<Ask>

/** As developers do, from a file. */
async function deployFromFolder({ service }: Tour): Promise<void> {
  const shell = newShell(service)
  writeFileSync(
    join(shell.folder, 'agent.yaml'),
    'name: ferry\nmodel: builtin/echo\ninstructions: Tell the timetable.\nmetadata:\n  team: ferries\n',
  )
  for (const args of [
    ['deploy', 'v1', '--message', 'From a file'],
    ['invoke', 'ferry', 'When does it leave?'],
    ['memory', 'add', 'ferry', 'The', 'ferry', 'leaves', 'at', 'nine'],
  ]) {
    const { code, stderr } = await shell.moorage(args)
    assert.equal(code, 0, stderr)
  }
  shell.remove()
}

async function deployments(ask: Ask): Promise<void> {
  const deploy = (version: string, environment: string) =>
    ask('POST', '/v1/agents/hello/deployments', { environment, version, message: `To ${environment}` })
  await deploy('v1', 'production')
  await ask('PATCH', '/v1/agents/hello', { description: 'Says what you say', metadata: { team: 'harbour' } })
  await deploy('v2', 'staging')
  const second = await deploy('v2', 'production')
  await ask('POST', `/v1/agents/hello/deployments/${second.id}/rollback`, {})
}

async function memories(ask: Ask): Promise<void> {
  const items = [
    { content: 'Ann sails the Bella on Mondays', kind: 'fact', context: ANN, metadata: { source: 'log', page: 3 } },
    { content: 'The north pier is closed', kind: 'note', created_at: '2026-02-01T10:00:00Z' },
    { content: 'Where is the pier?', kind: 'turn', role: 'user', context: BOB },
    { content: 'Bob has a dog on board', kind: 'fact', context: { user_id: 'bob' } },
  ]
  const { items: made } = await ask('POST', '/v1/agents/hello/memory', { items })
  await ask('PATCH', `/v1/agents/hello/memory/${made[1].id}`, { content: 'The north pier is open' })
  await ask('PUT', '/v1/agents/hello/sessions/monday/summary?user_id=ann', { content: 'Ann asked for the pier.' })
}

type Runs = { ask: Ask; invoke: Invoke; becomes(agent: string, id: string, status: string): Promise<unknown> }

async function runsOfEachKind({ ask, invoke, becomes }: Runs): Promise<void> {
  await invoke('hello', 'ahoy', { context: ANN })
  await invoke('hello', 'I am Bob', { context: BOB })
  await invoke('pilot', 'How is the weather?', { context: ANN })
  const schema = { type: 'object', properties: { ships: { type: 'integer' } }, required: ['ships'] }
  await invoke('pilot', 'count the ships', { output: { schema }, context: BOB })
  await invoke('captain', 'how is the weather at sea?', { context: { user_id: 'bob' } })
  const failing = await invoke('captain', 'stop now', {}, ASYNC)
  await becomes('captain', failing.request_id, 'failed')
  const late = await invoke('captain', 'late, please', {}, ASYNC)
  await becomes('captain', late.request_id, 'running')
  await ask('POST', `/v1/agents/captain/invocations/${late.request_id}/cancel`)
  await becomes('captain', late.request_id, 'cancelled')
  for (const [ship, decision] of [
    ['Anna', { decision: 'approve', arguments: { ship: 'Anna', nights: 4 }, note: 'For four nights' }],
    ['Bella', { decision: 'reject', note: 'No room' }],
  ] as const) {
    const { request_id } = await invoke('master', `a berth for ${ship}`, { context: ANN })
    await becomes('master', request_id, 'waiting')
    await ask('POST', `/v1/agents/master/invocations/${request_id}/approvals/call_1`, decision)
    await becomes('master', request_id, 'completed')
  }
  const erased = await invoke('hello', 'forget this')
  await ask('DELETE', `/v1/agents/hello/invocations/${erased.request_id}`)
}

/** One that is busy, and one that is paused with a run in its queue. */
async function otherProjects(ask: Ask): Promise<string> {
  const limits = { requests_per_minute: 5000, concurrent_runs: 3, retention_days: 50 }
  await ask('POST', '/v1/projects', { name: 'north', description: 'Up there', limits })
  await ask('POST', '/v1/projects', { name: 'south' })
  await ask('POST', '/v1/agents', { name: 'seal' }, IN_NORTH)
  await ask('POST', '/v1/agents/seal/invoke', { message: 'oink', context: ANN }, IN_NORTH)
  const slow = { model: 'builtin/script', script: { rules: [{ reply: 'waddle', delay_ms: 5_000 }] } }
  await ask('POST', '/v1/agents', { name: 'penguin', ...slow }, IN_SOUTH)
  const run = await ask('POST', '/v1/agents/penguin/invoke', { message: 'walk' }, { ...IN_SOUTH, ...ASYNC })
  await ask('POST', '/v1/pause', { reason: 'Too much ice' }, IN_SOUTH)
  return run.request_id
}

async function makeKeys(told: Tour, ask: Ask): Promise<Pick<Kept, 'mfa'> & { keys: Omit<Kept['keys'], 'admin'> }> {
  const create = (body: object) => ask('POST', '/v1/keys', body)
  const reader = await create({ name: 'reader', agent_id: 'hello', role: 'viewer', expires_at: '2031-01-01T00:00:00Z' })
  const developer = await create({ name: 'developer', role: 'developer', tier: 'free' })
  const { secret } = await ask('POST', `/v1/keys/${developer.id}/rotate`, GRACE)
  const revoked = await create({ name: 'revoked', role: 'viewer' })
  await ask('DELETE', `/v1/keys/${revoked.id}`)
  const guarded = await create({ name: 'guarded', role: 'admin', all_projects: true })
  const app = await enrol(told.service, guarded.id)
  return {
    keys: { reader: reader.secret, developer: secret, developerBefore: developer.secret },
    mfa: { key: guarded.secret, secret: app.secret },
  }
}

async function signIn(told: Tour, issuer: OidcIssuer, ask: Ask): Promise<Kept['cookies']> {
  issuer.accounts.set('ada', { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['all'] })
  issuer.accounts.set('bea', { name: 'Bea', email: 'bea@example.com', email_verified: true })
  issuer.serve(told.service.url)
  const person = new PersonTab(() => told.service)
  await person.signInAs(issuer, 'ada')
  const made = await person.ask('POST', '/v1/personal-keys', { body: { name: 'laptop', role: 'viewer' } })
  assert.equal(made.status, 201, made.text)
  await new PersonTab(() => told.service).signInAs(issuer, 'bea')
  await ask('POST', '/v1/invitations', { email: 'carla@example.com', role: 'developer' })
  await ask('POST', '/v1/invitations', { email: 'dora@example.com', role: 'viewer', all_projects: true })
  const admin = new PersonTab(() => told.service)
  await admin.signIn(told.service.admin)
  await ask('POST', '/v1/console-links', {})
  const ofAnyPort = ({ cookie }: PersonTab) => cookie.replace(/^moorage-\d+=/, 'moorage-{port}=')
  return { admin: ofAnyPort(admin), person: ofAnyPort(person) }
}
