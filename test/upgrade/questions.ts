import { moorage } from '../../src/http/dialects/moorage.ts'
import { Router } from '../../src/http/server/router.ts'
import { operations } from '../../src/operations.ts'
import { querySchemas } from '../support/clients/requests.ts'
import type { Service } from '../support/service/service.ts'
import { type Answer, asBrowser, asKey, askService, type Question } from './answers.ts'
import type { Kept } from './fill-store.ts'

/** Operations that read and are not asked, and why. */
const NOT_ASKED: Readonly<Record<string, string>> = {
  getSystem: 'tells of the process',
  getTelemetry: 'tells of the process',
  listProviderModels: 'asks the provider',
  streamInvocation: 'follows a run',
  getRunFile: 'is for a remote agent while it is called',
  getListener: 'prolongs the listener',
}

const routes = new Router<string>()
for (const { method, path, operation } of moorage.routes(operations)) routes.add(method, path, operation.id)

/** The operation that answers. */
function operationOf({ method, path }: Question): string {
  return routes.find(method, path.split('?')[0] as string)?.value ?? ''
}

/** The first answer of each operation. */
export function oneOfEach(answers: readonly Answer[]): Answer[] {
  const found = new Map<string, Answer>()
  for (const answer of answers) {
    const id = operationOf(answer) || answer.path
    if (!found.has(id)) found.set(id, answer)
  }
  return [...found.values()]
}

/** The operations that only read and that nothing asked. */
export function neverAsked(answers: readonly Answer[]): string[] {
  const asked = new Set(answers.map(operationOf))
  const reads = operations.filter(({ method, access }) => method === 'GET' && !access.ofRuns)
  return reads.map(({ id }) => id).filter((id) => !asked.has(id) && !(id in NOT_ASKED))
}

// The shape is what the service says.
// oxlint-disable-next-line typescript/no-explicit-any
type Said = any

/** Asks what leaves a trace: exports are audited, and an embedder counts what it is asked. */
export async function askWithTraces(service: Service, { keys }: Kept): Promise<Answer[]> {
  const headers = asKey(keys.admin)
  const search = (query: string, context: object = {}): Question => {
    return { method: 'POST', path: '/v1/agents/hello/memory/search', headers, body: { query, context } }
  }
  const inProject = (name: string): Question => {
    return { method: 'GET', path: '/v1/users/ann/export', headers: { ...headers, 'Moorage-Project': name } }
  }
  const questions = [
    search('pier'),
    search('who sails on Mondays', { user_id: 'ann' }),
    search('Is there a puppy?', { user_id: 'bob' }),
    inProject('default'),
    inProject('north'),
  ]
  const answers: Answer[] = []
  for (const question of questions) answers.push(await askService(service, question))
  const failed = answers.find(({ status }) => status !== 200)
  if (failed) throw new Error(JSON.stringify(failed))
  return answers
}

/** Asks everything else that the store can tell, as those who have kept a key. */
export async function askEverything(service: Service, { keys, cookies, mfa }: Kept): Promise<Answer[]> {
  const answers: Answer[] = []
  const ask = async (question: Question): Promise<Said> => {
    const answer = await askService(service, question)
    // What is not there is an answer as well. What is refused would be audited each time.
    if (![200, 404].includes(answer.status)) throw new Error(JSON.stringify(answer))
    answers.push(answer)
    return answer.said
  }
  for (const key of [keys.reader, keys.developer, keys.developerBefore, mfa.key]) await askKey(ask, key)
  const headers = asKey(keys.admin)
  const get = (path: string, more: Record<string, string> = {}): Promise<Said> =>
    ask({ method: 'GET', path, headers: { ...headers, ...more } })
  /** A list in every order that it takes. */
  const list = async (path: string, more: Record<string, string> = {}): Promise<Said[]> => {
    const id = operationOf({ method: 'GET', path, headers })
    const operation = operations.find((one) => one.id === id)
    if (!operation) throw new Error(`no operation lists ${path}`)
    const parameters = querySchemas(operation)
    const sort = parameters.find(({ name }) => name === 'sort')
    const all = parameters.some(({ name }) => name === 'limit') ? '&limit=100' : ''
    for (const order of (sort?.schema['enum'] ?? []) as string[]) await get(`${path}?sort=${order}${all}`, more)
    return (await get(`${path}?${all}`, more)).data ?? []
  }

  for (const project of await list('/v1/projects')) {
    const within = { 'Moorage-Project': project.name }
    await get(`/v1/projects/${project.id}`)
    await askProject(
      (path) => get(path, within),
      (path) => list(path, within),
    )
  }
  await list('/v1/console-sessions')
  await get('/v1/audit-log/head')
  await get('/v1/keys/self')
  await get('/v1/keys/self/agents')
  await get('/v1/agents/hello/sessions/monday/summary?user_id=ann')
  await ask({ method: 'GET', path: '/v1/personal-keys', headers: asBrowser(cookies.person) })
  for (const cookie of Object.values(cookies)) {
    await ask({ method: 'GET', path: '/console/session', headers: asBrowser(cookie) })
  }
  return answers
}

type Ask = (question: Question) => Promise<Said>
type Get = (path: string) => Promise<Said>
type List = (path: string) => Promise<Said[]>

async function askKey(ask: Ask, key: string): Promise<void> {
  for (const path of ['/v1/keys/self', '/v1/agents/hello']) await ask({ method: 'GET', path, headers: asKey(key) })
}

/** What belongs to one project. */
async function askProject(get: Get, list: List): Promise<void> {
  for (const { id } of await list('/v1/agents')) await askAgent(id, get, list)
  for (const { id } of await list('/v1/webhooks')) {
    await get(`/v1/webhooks/${id}`)
    for (const delivery of await list(`/v1/webhooks/${id}/deliveries`)) {
      await get(`/v1/webhooks/${id}/deliveries/${delivery.id}`)
      await get(`/v1/deliveries/${delivery.id}`)
    }
  }
  for (const { id } of await list('/v1/keys')) {
    await get(`/v1/keys/${id}`)
    await get(`/v1/keys/${id}/mfa`)
  }
  for (const { id } of await list('/v1/files')) {
    await get(`/v1/files/${id}`)
    await get(`/v1/files/${id}/content`)
  }
  for (const { id } of await list('/v1/budgets')) await get(`/v1/budgets/${id}`)
  for (const { id } of await list('/v1/people')) await get(`/v1/people/${id}`)
  for (const { id } of await list('/v1/invitations')) await get(`/v1/invitations/${id}`)
  for (const path of [
    '/v1/secrets',
    '/v1/providers',
    '/v1/prices',
    '/v1/overview',
    '/v1/audit-log',
    '/v1/approvals',
    '/v1/feedback',
  ])
    await list(path)
  await list('/v1/invocations')
  for (const path of ['/v1/pause', '/v1/memory', '/v1/usage', ...USAGE]) await get(path)
}

const USAGE = [
  'group_by=agent,model',
  'group_by=user,key,door',
  'group_by=environment,version,purpose',
  'granularity=day&from=2026-03-01T00:00:00Z&to=2026-03-05T00:00:00Z',
  'granularity=hour&from=2026-03-02T06:00:00Z&to=2026-03-03T12:00:00Z',
  'group_by=agent,model&format=csv',
].map((query) => `/v1/usage?${query}`)

async function askAgent(id: string, get: Get, list: List): Promise<void> {
  const agent = `/v1/agents/${id}`
  await get(agent)
  for (const deployment of await list(`${agent}/deployments`)) {
    await get(`${agent}/deployments/${deployment.id}`)
    await get(`/v1/deployments/${deployment.id}`)
    await get(`${agent}/deployments/${deployment.id}/diff`)
  }
  for (const run of await list(`${agent}/invocations`))
    await askRun(`${agent}/invocations/${run.request_id}`, get, list)
  for (const schedule of await list(`${agent}/schedules`)) await get(`${agent}/schedules/${schedule.id}`)
  for (const { name } of await list(`${agent}/sets`)) await get(`${agent}/sets/${name}`)
  await list(`${agent}/replays`)
  for (const memory of await list(`${agent}/memory`)) await get(`${agent}/memory/${memory.id}`)
  await list(`${agent}/users`)
  await list(`${agent}/sessions`)
  await list(`${agent}/logs`)
  const range = 'start_time=2026-03-02T00:00:00Z&end_time=2026-03-04T00:00:00Z&granularity=1h'
  for (const metric of ['response_time', 'throughput', 'error_rate', 'tokens', 'cost', 'feedback'])
    await get(`${agent}/metrics?metric=${metric}&${range}`)
  await get(`${agent}/metrics?metric=response_time&aggregation=p95&${range}`)
  await get(`${agent}/performance?${range}`)
}

async function askRun(run: string, get: Get, list: List): Promise<void> {
  const { data } = await get(run)
  await get(`${run}/prompt`)
  await get(`${run}/effects`)
  await list(`${run}/feedback`)
  for (const { id } of await list(`${run}/callbacks`)) await get(`${run}/callbacks/${id}`)
  for (const { kind, call_id } of data?.steps ?? []) {
    if (kind === 'approval') await get(`${run}/approvals/${call_id}`)
  }
}
