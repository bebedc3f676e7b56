// One act of a client as a request, and the reply as what the client was told.
import type { Act, Invoke } from '../model/act.ts'
import type { Answer } from '../model/world.ts'
import { readEvents } from '../support/clients/sse.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { type Outside, textOf } from './outside.ts'

/** An answer takes no longer than this, whatever happens: who asks again may wait until a lease has ended. */
const PATIENCE_MS = 60_000 * PATIENCE

/** What a client knows: the secrets of keys and the ids of runs that it was told. */
export type Client = {
  url(): string
  outside: Outside
  secrets: Map<string, string>
  /** The name of a run's message, by its id. */
  runs: Map<string, string>
  /** The messages of runs that had to wait. */
  waited: Set<string>
  /** The names of agents, by their ids. */
  agents: Map<string, string>
  /** What is to be sent again as it was, by the act. */
  sent: Map<string, Request>
}

type Request = { method: string; path: string; body?: unknown; headers?: Record<string, string> }

/** Looks up what the request names, before something goes wrong. */
export async function prepare(client: Client, act: Act): Promise<void> {
  const name = JSON.stringify(act)
  if (!client.sent.has(name)) client.sent.set(name, await requestFor(client, act))
}

/** Undefined: no answer came, or one that does not say whether it was done. */
export async function ask(client: Client, act: Act, signal?: AbortSignal): Promise<Answer | undefined> {
  // Who asks again sends the same bytes to the same path.
  const name = JSON.stringify(act)
  const request = client.sent.get(name) ?? (await requestFor(client, act))
  if (act.once !== undefined) client.sent.set(name, request)
  const headers = { ...request.headers, ...(act.once !== undefined && { 'Idempotency-Key': act.once }) }
  const reply = await send(client, act, { ...request, headers }, signal)
  if (!reply || reply.status === 503) return undefined
  return { ...told(client, act, reply), ...(reply.isReplayed && { isReplayed: true }) }
}

/** Sends it as the key that the act names. */
export async function send(
  { url, secrets }: Client,
  { by, project }: { by: string; project: string },
  { method, path, body, headers = {} }: Request,
  signal?: AbortSignal,
): Promise<Reply | undefined> {
  const isRoot = by === 'root'
  const late = AbortSignal.timeout(PATIENCE_MS)
  try {
    const response = await fetch(url() + path, {
      method,
      headers: {
        Authorization: `Bearer ${secrets.get(by)}`,
        ...(isRoot && { 'Moorage-Project': project }),
        ...(body !== undefined && typeof body !== 'string' && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      signal: signal ? AbortSignal.any([signal, late]) : late,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
      const reply = await lastEvent(response)
      return reply && { ...reply, isReplayed: isReplay(response) }
    }
    const text = await response.text()
    const request_id = response.headers.get('x-request-id') ?? undefined
    const isReplayed = isReplay(response)
    return { status: response.status, request_id, isReplayed, body: text === '' ? undefined : parsed(text) }
  } catch (error) {
    if (late.aborted) throw new Error(`${method} ${path} was not answered within ${PATIENCE_MS} ms`, { cause: error })
    return undefined
  }
}

// The shape is that of the operation.
// oxlint-disable-next-line typescript/no-explicit-any
type Reply = { status: number; request_id?: string | undefined; isReplayed?: boolean; body: any }

const isReplay = ({ headers }: Response) => headers.get('idempotent-replayed') === 'true'

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const STATUSES: Record<string, number> = { budget_exceeded: 429, server_error: 500, unavailable: 503, timeout: 504 }

/** A stream tells what the plain reply would have been. The texts on the way must be those of the answer. */
async function lastEvent(response: Response): Promise<Reply | undefined> {
  let text = ''
  for await (const { event, data } of readEvents(response)) {
    // oxlint-disable-next-line typescript/no-explicit-any
    const body = data as any
    if (event === 'delta') text += body.text
    if (event === 'waiting') return { status: 202, body: { data: body } }
    if (event === 'error') return { status: STATUSES[body.error.code] ?? 409, body }
    if (event === 'done') {
      if (body.data.response !== text) throw new Error(`streamed "${text}", answered "${body.data.response}"`)
      return { status: 200, body }
    }
  }
  return undefined
}

async function requestFor(client: Client, act: Act): Promise<Request> {
  const agent = 'agent' in act && act.agent !== null ? `/v1/agents/${act.agent}` : ''
  const found = (path: string, isMeant: (item: Item) => boolean) => find(client, act.project, path, isMeant)
  switch (act.do) {
    case 'create agent':
      return { method: 'POST', path: '/v1/agents', body: definitionOf(client, act) }
    case 'update agent':
      return { method: 'PATCH', path: agent, body: { instructions: `persona ${act.persona}` } }
    case 'pause agent':
    case 'resume agent':
      return { method: 'PATCH', path: agent, body: { status: act.do === 'pause agent' ? 'paused' : 'running' } }
    case 'delete agent':
      return { method: 'DELETE', path: agent }
    case 'deploy': {
      const { environment, version } = act
      return { method: 'POST', path: `${agent}/deployments`, body: { environment, version } }
    }
    case 'roll back': {
      const path = `${agent}/deployments?status=active&environment=${act.environment}`
      const id = (await found(path, () => true))?.id ?? 'dep_00000000000000000000000000'
      return { method: 'POST', path: `${agent}/deployments/${id}/rollback`, body: {} }
    }
    case 'create key': {
      const limited = act.agent !== null && { agent_id: act.agent }
      const set = { deleter: 'delete', manager: 'manage' }[act.role as string]
      const rights = set ? { permissions: [set] } : { role: act.role }
      return { method: 'POST', path: '/v1/keys', body: { name: act.key, ...rights, ...limited } }
    }
    case 'revoke key': {
      const wanted = act.key === 'root' ? ROOT_NAME : act.key
      const id = (await found('/v1/keys?limit=100', ({ name }) => name === wanted))?.id
      return { method: 'DELETE', path: `/v1/keys/${id ?? 'key_00000000000000000000000000'}` }
    }
    case 'invoke':
      return invocation(act, agent)
    case 'cancel':
      return { method: 'POST', path: `${agent}/invocations/${await idOfRun(client, act)}/cancel`, body: {} }
    case 'erase run':
      return { method: 'DELETE', path: `${agent}/invocations/${await idOfRun(client, act)}` }
    case 'decide': {
      const path = `${agent}/invocations/${await idOfRun(client, act)}/approvals/call_1`
      return { method: 'POST', path, body: { decision: act.decision } }
    }
    case 'write memory': {
      const items = [{ content: `${act.about} is noted`, context: contextOf(act) }]
      return { method: 'POST', path: `${agent}/memory`, body: { items } }
    }
    case 'forget': {
      const filters = new URLSearchParams(contextOf(act)).toString()
      return { method: 'DELETE', path: `${agent}/memory${filters && `?${filters}`}` }
    }
    case 'create schedule': {
      const body = { name: act.schedule, every: `${act.every / 60_000}m`, message: textOf(act.message, 'answer') }
      return { method: 'POST', path: `${agent}/schedules`, body }
    }
    case 'delete schedule': {
      const id = (await found(`${agent}/schedules?limit=100`, ({ name }) => name === act.schedule))?.id
      return { method: 'DELETE', path: `${agent}/schedules/${id ?? 'sch_00000000000000000000000000'}` }
    }
    case 'create budget': {
      const scope = act.agent === null ? { type: 'project' } : { type: 'agent', id: act.agent }
      const body = { name: act.budget, scope, limit: { [act.kind]: act.amount }, per: 'ever', action: act.action }
      return { method: 'POST', path: '/v1/budgets', body }
    }
    case 'delete budget': {
      const id = (await found('/v1/budgets?limit=100', ({ name }) => name === act.budget))?.id
      return { method: 'DELETE', path: `/v1/budgets/${id ?? 'bud_00000000000000000000000000'}` }
    }
    case 'create webhook': {
      const ofAgent = act.agent !== null && { agent_id: act.agent }
      const body = { url: client.outside.url + act.webhook, events: act.events, ...ofAgent }
      return { method: 'POST', path: '/v1/webhooks', body }
    }
    case 'enable webhook':
    case 'disable webhook':
    case 'delete webhook': {
      const id = (await found('/v1/webhooks?limit=100', ({ url }) => String(url).endsWith(act.webhook)))?.id
      const path = `/v1/webhooks/${id ?? 'whk_00000000000000000000000000'}`
      if (act.do === 'delete webhook') return { method: 'DELETE', path }
      return { method: 'PATCH', path, body: { status: act.do === 'enable webhook' ? 'enabled' : 'disabled' } }
    }
    case 'upload': {
      const path = `/v1/files?name=${act.file}${act.user === null ? '' : `&user_id=${act.user}`}`
      return { method: 'POST', path, body: act.content, headers: { 'Content-Type': 'text/plain' } }
    }
    case 'delete file': {
      const id = (await found('/v1/files?limit=100', ({ name }) => name === act.file))?.id
      return { method: 'DELETE', path: `/v1/files/${id ?? 'fil_00000000000000000000000000'}` }
    }
    case 'erase user':
      return { method: 'DELETE', path: `/v1/users/${act.user}` }
    case 'list':
      return { method: 'GET', path: LIST_PATHS[act.what](agent) }
  }
}

/** The name of the key with which a new service starts. */
const ROOT_NAME = 'first admin key'

const LIST_PATHS: Record<Extract<Act, { do: 'list' }>['what'], (agent: string) => string> = {
  agents: () => '/v1/agents?limit=100',
  invocations: (agent) => `${agent}/invocations?limit=100`,
  approvals: () => '/v1/approvals?status=pending&limit=100',
  files: () => '/v1/files?limit=100',
  webhooks: () => '/v1/webhooks?limit=100',
  budgets: () => '/v1/budgets?limit=100',
  keys: () => '/v1/keys?status=active&limit=100',
}

/** What the model calls an item of a list. */
function nameOf(what: Extract<Act, { do: 'list' }>['what'], item: Item): string {
  if (what === 'invocations') return String(item['message'] || 'erased').replace(/ .*/s, '')
  if (what === 'approvals') return String(Object(item['arguments'])['about'])
  return what === 'webhooks' ? new URL(String(item['url'])).pathname : String(item['name'])
}

function contextOf({ user, session }: { user: string | null; session: string | null }): Record<string, string> {
  return { ...(user !== null && { user_id: user }), ...(session !== null && { session_id: session }) }
}

function definitionOf({ outside }: Client, act: Extract<Act, { do: 'create agent' }>) {
  const { agent: name, persona, remember, history } = act
  const input_schema = { type: 'object', properties: { about: { type: 'string' } }, required: ['about'] }
  const tool = { type: 'http', method: 'POST', input_schema }
  const tools = [
    { ...tool, name: 'look', url: `${outside.url}/tool` },
    { ...tool, name: 'refund', url: `${outside.url}/refund`, approval: 'always' },
  ]
  const memory = { remember, history, recall: 3 }
  return { name, model: 'local/tiny', instructions: `persona ${persona}`, tools, memory }
}

function invocation(act: Invoke, agent: string): Request {
  const message = textOf(act.message, act.plan)
  if (act.how === 'openai') {
    const model = act.environment === 'production' ? act.agent : `${act.agent}@${act.environment}`
    return {
      method: 'POST',
      path: '/v1/chat/completions',
      body: { model, messages: [{ role: 'user', content: message }] },
    }
  }
  const body = { message, context: contextOf(act), environment: act.environment }
  const headers = { plain: {}, stream: { Accept: 'text/event-stream' }, background: { Prefer: 'respond-async' } }[
    act.how
  ]
  return { method: 'POST', path: `${agent}/invoke`, body, headers }
}

type Item = { id: string; [field: string]: unknown }

async function find(client: Client, project: string, path: string, isMeant: (item: Item) => boolean) {
  const reply = await send(client, { by: 'root', project }, { method: 'GET', path })
  return (reply?.body.data as Item[] | undefined)?.find?.(isMeant)
}

/** The client that asks may not know the id: it is looked up by the text of the message. */
async function idOfRun(client: Client, act: { agent: string; project: string; message: string }): Promise<string> {
  // A request that failed and was sent again has two IDs. The run has the later one.
  const known = [...client.runs].findLast(([, message]) => message === act.message)
  if (known) return known[0]
  const path = `/v1/agents/${act.agent}/invocations?limit=100`
  const found = await find(client, act.project, path, (item) => String(item['message']).startsWith(`${act.message} `))
  if (!found) return 'req_00000000000000000000000000'
  const id = String(found['request_id'])
  client.runs.set(id, act.message)
  return id
}

/** A request that is sent again begins another run only if the first one has failed. */
function beginsRun({ runs, waited }: Client, message: string, status: number): boolean {
  const isKnown = runs.values().some((known) => known === message)
  return !isKnown || (!waited.has(message) && (status >= 500 || status === 429))
}

/** What of a reply was promised. */
function told(client: Client, act: Act, { status, request_id, isReplayed, body }: Reply): Answer {
  // The id of a request that begins a run is the run's. Clients of OpenAI are told it in the header only.
  const run = act.do === 'invoke' && !isReplayed && (body?.request_id ?? (act.how === 'openai' && request_id))
  if (run && beginsRun(client, act.message, status)) client.runs.set(run, act.message)
  if (act.do === 'invoke' && (status === 202 || body?.error?.code === 'run_waits')) client.waited.add(act.message)
  if (status >= 400) return { status, code: body?.error?.code }
  const data = body?.data
  switch (act.do) {
    case 'create agent':
      client.agents.set(data.id, act.agent)
      return { status, says: { name: data.name, status: data.status } }
    case 'pause agent':
    case 'resume agent':
      return { status, says: { name: data.name, status: data.status } }
    case 'update agent':
    case 'create schedule':
      return { status, says: { name: data.name } }
    case 'delete agent':
    case 'delete schedule':
    case 'delete budget':
    case 'delete webhook':
    case 'delete file':
      return { status, says: { deleted: data.deleted } }
    case 'deploy':
    case 'roll back':
      return { status, says: { version: data.version, environment: data.environment, status: data.status } }
    case 'create key':
      client.secrets.set(act.key, data.secret)
      return { status, says: { name: data.name, permissions: data.permissions.toSorted() } }
    case 'revoke key':
      return { status, says: { revoked: data.revoked } }
    case 'invoke': {
      if (act.how === 'openai') {
        return { status, says: { response: body.choices[0].message.content, tokens: body.usage.total_tokens } }
      }
      client.runs.set(data.request_id, act.message)
      if (status === 202) return { status, says: { status: data.status } }
      return { status, says: { response: data.response, tokens: data.tokens_used } }
    }
    case 'cancel':
    case 'decide':
      return { status, says: { status: data.status } }
    case 'write memory':
      return { status, says: { written: data.items.length } }
    case 'forget':
      return { status, says: { deleted: data.deleted } }
    case 'create budget':
      return { status, says: { name: data.name, used: data.used } }
    case 'create webhook':
      client.outside.secrets.set(act.webhook, data.secret)
      return { status, says: { events: data.events } }
    case 'upload':
      return { status, says: { name: data.name, size: data.size } }
    case 'erase run':
      return { status }
    case 'erase user':
      return { status, says: { unfinished: data.unfinished } }
    case 'enable webhook':
    case 'disable webhook':
      return { status, says: { status: data.status } }
    case 'list': {
      const names = (data as Item[]).map((item) => nameOf(act.what, item))
      return { status, says: { names: names.filter((name) => name !== ROOT_NAME).toSorted() } }
    }
  }
}
