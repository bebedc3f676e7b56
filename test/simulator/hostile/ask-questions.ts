// Clients that ask odd questions, and say things in odd ways. What is true of every reply is known without knowing the reply.
import { isDeepStrictEqual } from 'node:util'
import { chatChunk } from '../../support/outside/chat-chunk.ts'
import { LOCAL_TOOLS, readBody, startLocalServer } from '../../support/outside/local-server.ts'
import type { Engine } from '../../support/service/service.ts'
import { type Random, randomOf } from '../random.ts'
import { AGENTS, FAST, type HostileStage, type StartSubject, type Subject } from './hostile-stage.ts'

type Found = Promise<string[]>

type Provider = Awaited<ReturnType<typeof openProvider>>

export async function openQuestionStage(engine: Engine, start: StartSubject): Promise<HostileStage> {
  const provider = await openProvider()
  const providers = Array.from({ length: AGENTS }, (_, i) => ({ name: `p${i}`, baseUrl: `${provider.url}/${i}/v1` }))
  const settings = { ...LOCAL_TOOLS, ...FAST, MOORAGE_PROVIDERS: JSON.stringify(providers), LOG_LEVEL: 'error' }
  const service = await start(engine, settings)
  for (let i = 0; i < AGENTS; i++)
    await service.call('POST', '/v1/agents', { body: { name: `mate-${i}`, model: `p${i}/small` } })
  await service.call('POST', '/v1/agents/mate-0/invoke', { body: { message: 'hi', context: { user_id: 'ada' } } })
  const lists = listsOf((await service.call('GET', '/v1/openapi.json')).body)
  return {
    async ask(seed, place) {
      const random = randomOf(seed)
      const kind = random.of([
        askOddly,
        askTwice,
        negotiate,
        converse,
        converse,
        callBack,
        changeTogether,
        renameTogether,
      ])
      const wrong = await kind(service, random, { lists, provider, place })
      return wrong.map((one) => `seed ${seed} (${kind.name}): ${one}`)
    },
    async close() {
      await service.stop().finally(provider.close)
    },
  }
}

type Parameter = { in: string; name: string; schema?: { format?: string; enum?: string[] } }

type List = { path: string; parameters: Parameter[] }

type Asked = { lists: List[]; provider: Provider; place: number }

/** What can be read, as the service says itself. */
// oxlint-disable-next-line typescript/no-explicit-any
function listsOf({ paths }: any): List[] {
  return Object.entries(paths as Record<string, { get?: { parameters?: Parameter[] } }>)
    .filter(([path, { get }]) => get && !/stream|openapi|content|download|\{(?!agent_id)/.test(path))
    .map(([path, { get }]) => ({
      path: path.replace('{agent_id}', 'mate-0'),
      parameters: (get?.parameters ?? []).filter((one) => one.in === 'query'),
    }))
}

const ODD = [
  '9999-12-31T23:59:59Z',
  '0001-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999Z',
  '275760-09-13T00:00:00Z',
  '-1',
  '0',
  '1e308',
  '9007199254740993',
  '',
  'null',
  '%00',
  '\u{1f600}',
  "'; drop table agents; --",
  'x'.repeat(2_000),
  'ada',
  'Australia/Lord_Howe',
]

const TIMES = ODD.filter((value) => value.endsWith('Z'))

const valueFor = (random: Random, { schema }: Parameter): string =>
  random.of(schema?.enum && random.chance(0.8) ? schema.enum : schema?.format === 'date-time' ? TIMES : ODD)

/** A question that makes no sense is refused, and never the service's mistake. */
async function askOddly(service: Subject, random: Random, { lists }: Asked): Found {
  const all = lists.flatMap(({ parameters }) => parameters)
  const query = new URLSearchParams()
  for (let i = 1 + random.below(2); i > 0; i--) {
    const parameter = random.of(all)
    query.set(parameter.name, valueFor(random, parameter))
  }
  const [name] = query.keys()
  const asked = lists.filter(({ parameters }) => parameters.some((one) => one.name === name))
  const wrong: string[] = []
  for (const { path } of asked) {
    const { status, text } = await service.call('GET', `${path}?${query}`)
    if (status >= 500) wrong.push(`GET ${path}?${query} is ${status}: ${text.slice(0, 200)}`)
  }
  return wrong
}

/** The same question in other words has the same answer. */
async function askTwice(service: Subject, random: Random, { lists }: Asked): Found {
  const list = random.of(lists)
  const page = list.parameters.some(({ name }) => name === 'limit') ? [['limit', String(1 + random.below(20))]] : []
  const others = list.parameters
    .filter(({ name }) => name !== 'limit' && random.chance(0.1))
    .map((one) => [one.name, valueFor(random, one)])
  const pairs = [...page, ...others].map(([name, value]) => `${name}=${encodeURIComponent(value ?? '')}`)
  const words = [
    `?${pairs.join('&')}`,
    `?${pairs.toReversed().join('&')}`,
    `?${pairs.join('&')}&`,
    `?&${pairs.join('&&')}`,
  ]
  const replies = await Promise.all(words.map((query) => service.call('GET', list.path + query)))
  const statuses = replies.map(({ status }) => status)
  return new Set(statuses).size === 1 ? [] : words.map((query, i) => `GET ${list.path}${query} is ${statuses[i]}`)
}

/** RFC 9110: the type that the client likes most is sent. */
async function negotiate(service: Subject, random: Random): Found {
  const types = ['application/json', 'text/csv']
  const [one, other] = random.chance(0.5) ? types : types.toReversed()
  const weights = [random.of(['', ';q=1', ';q=0.9']), random.of([';q=0.1', ';q=0.5', ';q=0'])]
  const parts = [`${one}${weights[0]}`, `${other}${weights[1]}`]
  const accept = (random.chance(0.5) ? parts : parts.toReversed()).join(', ')
  const { status, headers } = await service.call('GET', '/v1/usage', { headers: { accept } })
  const type = headers.get('content-type') ?? ''
  return status === 200 && type.startsWith(one as string)
    ? []
    : [`Accept: ${accept} is answered with ${status} ${type}`]
}

type Message = { role: string; content: unknown }

const SAID = ['Ahoy!', 'My booking is 4711.', 'Grüße', 'a\nb', '']

/** A model is shown everything that the client gives, in order; two turns of one speaker never follow each other. */
async function converse(service: Subject, random: Random, { provider, place }: Asked): Found {
  const isByAssistant = random.chance(0.5)
  const count = 1 + random.below(5)
  const messages: Message[] = Array.from({ length: count }, (_, i) => ({
    role: (i % 2 === 0) === isByAssistant ? 'assistant' : 'user',
    content: `${random.of(SAID)}`,
  }))
  for (const [i, message] of messages.entries())
    if (message.content !== '') message.content = `${message.content} (${i})`
  messages.push({ role: 'user', content: 'and now?' })
  const isNew = random.chance(0.5)
  const [path, body] = isNew
    ? ['/v1/responses', { model: `mate-${place}`, input: messages, store: false }]
    : ['/v1/chat/completions', { model: `mate-${place}`, messages }]
  provider.begin(place)
  const { status, text } = await service.call('POST', path as string, { body })
  const [prompt] = provider.prompts(place)
  // An empty turn may be refused.
  if (status >= 400 && status < 500)
    return messages.every(({ content }) => content !== '') ? [`${status}: ${text}`] : []
  if (status !== 200 || !prompt) return [`${status}: ${text.slice(0, 200)}`]
  const shown = prompt.filter(({ role }) => role !== 'system')
  const whole = shown.map(({ content }) => textOf(content)).join('\n')
  const wrong: string[] = []
  let at = 0
  for (const { content } of messages) {
    const found = whole.indexOf(String(content), at)
    if (found < 0) wrong.push(`the model was not shown ${JSON.stringify(content)} of ${JSON.stringify(messages)}`)
    else at = found
  }
  for (const [i, { role }] of shown.entries())
    if (role === shown[i - 1]?.role) wrong.push(`two turns of the ${role} follow each other: ${JSON.stringify(shown)}`)
  return wrong
}

const textOf = (content: unknown): string => (typeof content === 'string' ? content : JSON.stringify(content ?? ''))

const IMAGE =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A run that goes on after its client's tool shows the model all that it was shown before. */
async function callBack(service: Subject, random: Random, { provider, place }: Asked): Found {
  const tools = [{ type: 'function', name: 'client_tool', parameters: { type: 'object', properties: {} } }]
  const parts = [
    { type: 'input_text', text: 'what is this?' },
    ...(random.chance(0.7) ? [{ type: 'input_image', image_url: IMAGE }] : []),
  ]
  const input = [{ role: 'user', content: parts }]
  const model = `mate-${place}`
  provider.begin(place)
  const first = await service.call('POST', '/v1/responses', { body: { model, input, tools } })
  // oxlint-disable-next-line typescript/no-explicit-any
  const call = first.body?.output?.find((one: any) => one.type === 'function_call')
  if (!call) return [`the call did not arrive: ${first.status} ${first.text.slice(0, 200)}`]
  const output = [{ type: 'function_call_output', call_id: call.call_id, output: 'it is red' }]
  const body = { model, previous_response_id: first.body.id, input: output, tools }
  const second = await service.call('POST', '/v1/responses', { body })
  const [before, after] = provider.prompts(place)
  if (second.status !== 200 || !before || !after) return [`${second.status}: ${second.text.slice(0, 200)}`]
  const lost = before.filter((turn) => !after.some((other) => isDeepStrictEqual(other, turn)))
  return lost.map((turn) => `after the call, the model was not shown ${JSON.stringify(turn).slice(0, 200)}`)
}

async function newProject(service: Subject, random: Random): Promise<string> {
  const { status, body, text } = await service.call('POST', '/v1/projects', {
    body: { name: `p-${random.below(1e9)}` },
  })
  if (status !== 201) throw new Error(text)
  return `/v1/projects/${body.data.id}`
}

/** Changes of different fields, made at the same time, all hold. */
async function changeTogether(service: Subject, random: Random): Found {
  const path = await newProject(service, random)
  const changes = [
    { description: `d${random.below(9)}` },
    { limits: { requests_per_minute: 1 + random.below(1_000) } },
    { limits: { concurrent_runs: 1 + random.below(1_000) } },
  ]
  const replies = await Promise.all(changes.map((body) => service.call('PATCH', path, { body })))
  const { description, limits } = (await service.call('GET', path)).body.data
  const found = [
    { description },
    { limits: { requests_per_minute: limits.requests_per_minute } },
    { limits: { concurrent_runs: limits.concurrent_runs } },
  ]
  await service.call('DELETE', path)
  const lost = changes.filter((change, i) => replies[i]?.status === 200 && !isDeepStrictEqual(change, found[i]))
  return lost.map((change) => `${JSON.stringify(change)} was answered with 200, and is gone`)
}

/** Of two things that want the same name at the same time, one gets it. */
async function renameTogether(service: Subject, random: Random): Found {
  const paths = [await newProject(service, random), await newProject(service, random)]
  const body = { name: `n-${random.below(1e9)}` }
  const replies = await Promise.all(paths.map((path) => service.call('PATCH', path, { body })))
  for (const path of paths) await service.call('DELETE', path)
  const statuses = replies.map(({ status }) => status).toSorted((a, b) => a - b)
  return isDeepStrictEqual(statuses, [200, 409])
    ? []
    : [`two renames to one name are answered with ${statuses.join(' and ')}`]
}

/** A model that calls a tool of the client once, and otherwise answers. */
async function openProvider() {
  const prompts = new Map<number, Message[][]>()
  const server = await startLocalServer(async (request, response) => {
    const body = JSON.parse((await readBody(request)) || 'null')
    const place = Number((request.url ?? '').split('/')[1])
    const messages = body.messages as Message[]
    prompts.get(place)?.push(messages)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const isCalled = messages.some(({ role }) => role === 'tool')
    if (body.tools && !isCalled) {
      const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'client_tool', arguments: '{}' } }
      response.write(chatChunk({ tool_calls: [call] }) + chatChunk({}, 'tool_calls'))
    } else response.write(chatChunk({ content: 'fine' }) + chatChunk({}, 'stop'))
    response.end('data: [DONE]\n\n')
  })
  return {
    url: server.url,
    begin: (place: number) => void prompts.set(place, []),
    prompts: (place: number) => prompts.get(place) ?? [],
    close: server.close,
  }
}
