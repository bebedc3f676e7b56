// An A2A agent that misbehaves by seed. What it says is right, as the official SDK writes it, and is spoilt on its way.
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { AgentCard, type Message, type Part, Role, type Task, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import { readBody } from '../../support/outside/local-server.ts'
import { randomOf } from '../random.ts'
import {
  cutsOf,
  type Elsewhere,
  type HostileServer,
  type Manners,
  mannersOf,
  openHostileServer,
  RUDE_MANNERS,
  sendBadly,
  WIRE_MANNERS,
  watchBusy,
} from './wire.ts'

const A2A_MANNERS = {
  ...WIRE_MANNERS,
  ...RUDE_MANNERS,
  CRLF: 'fair',
  comments: 'fair',
  'unknown fields': 'fair',
  'no streaming': 'fair',
  'only a message': 'fair',
  'two artifacts': 'fair',
  'says it in the status': 'fair',
  'works first': 'fair',
  'open after the end': 'fair',
  'breaks off in between': 'fair',
  fails: 'foul',
  rejects: 'foul',
  'wants a sign-in': 'foul',
  'says nothing': 'foul',
  'error in 200': 'foul',
  'wrong id': 'foul',
  'null result': 'foul',
  'another shape': 'foul',
  garbage: 'foul',
  HTML: 'foul',
  'status 500': 'foul',
  'status 401': 'foul',
  'says the secret': 'foul',
  'card of another host': 'foul',
  'card of another version': 'foul',
  'card without URLs': 'foul',
} as const satisfies Manners

export type Manner = keyof typeof A2A_MANNERS

export type Performance = {
  seed: number
  /** What is spoilt: the card, or the answer to a message. */
  where: 'card' | 'message'
  manners: Manner[]
  cuts: number[]
  said: string[]
}

const TEXTS = ['Ahoy!', 'Grüße aus Møre — 你好', '👩‍👩‍👧', 'a\nb\n\nc', 'x'.repeat(3_000), 'data: [DONE]']

/** The protocol has no end of a stream that stays open without a final status. */
export const isFair = ({ manners }: Performance) => manners.every((manner) => A2A_MANNERS[manner] === 'fair')

export function performanceOf(seed: number): Performance {
  const random = randomOf(seed)
  const where = random.of(['card', 'message', 'message', 'message'] as const)
  const manners = mannersOf(random, A2A_MANNERS)
  // The card is one reply, and only what spoils any reply spoils it.
  if (where === 'card') for (const manner of ['comments', 'CRLF', 'open after the end'] as const) manners.delete(manner)
  const said =
    manners.has('two artifacts') && !manners.has('only a message') && !manners.has('says it in the status')
      ? [random.of(TEXTS), random.of(TEXTS)]
      : [random.of(TEXTS)]
  return { seed, where, manners: [...manners], cuts: cutsOf(random), said }
}

export type Act = {
  performance: Performance
  /** Each message that has arrived: its ID, and the key of its request. */
  messages: { id: string; key: string }[]
  headers: IncomingHttpHeaders[]
  /** How many messages the agent has worked on. */
  worked: number
  cancelled: number
  busy: Set<ServerResponse>
}

export type HostileA2a = Pick<HostileServer, 'url' | 'host' | 'elsewhere' | 'close'> & {
  begin(name: string, performance: Performance): Act
}

type Rpc = { act: Act; handler: JsonRpcTransportHandler }

export async function openHostileA2a(secret: string): Promise<HostileA2a> {
  const acts = new Map<string, Rpc>()
  const server = await openHostileServer(async (request, response, elsewhere) => {
    const [, name = '', what = ''] = (request.url ?? '').split('/')
    const { act, handler } = acts.get(name) as Rpc
    watchBusy(act.busy, response)
    act.headers.push(request.headers)
    const text = await readBody(request)
    if (what === 'card') return answerCard(response, act, `${server.url}/${name}`, elsewhere)
    await answerRpc(response, act, { body: JSON.parse(text), handler, headers: request.headers, elsewhere, secret })
  })
  return {
    ...server,
    begin(name, performance) {
      const act: Act = { performance, messages: [], headers: [], worked: 0, cancelled: 0, busy: new Set() }
      const card = cardOf(`${server.url}/${name}/rpc`, performance)
      const requests = new DefaultRequestHandler(card, new InMemoryTaskStore(), executorOf(act, secret))
      acts.set(name, { act, handler: new JsonRpcTransportHandler(requests) })
      return act
    },
  }
}

const has = ({ manners }: Performance, manner: Manner) => manners.includes(manner)

const cardOf = (url: string, performance: Performance): AgentCard => ({
  name: 'far',
  description: 'An agent elsewhere',
  version: '1',
  provider: undefined,
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  capabilities: {
    streaming: !has(performance, 'no streaming'),
    pushNotifications: false,
    extendedAgentCard: false,
    extensions: [],
  },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
})

async function answerCard(response: ServerResponse, { performance }: Act, url: string, elsewhere: Elsewhere) {
  const isRude = performance.where === 'card'
  const isLike = (manner: string) => isRude && (performance.manners as string[]).includes(manner)
  if (isLike('status 500')) return void response.writeHead(500).end()
  if (isLike('status 401')) return void response.writeHead(401).end()
  if (isLike('HTML')) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>')
  const card = AgentCard.toJSON(cardOf(`${url}/rpc`, performance)) as Record<string, unknown>
  const [only] = card['supportedInterfaces'] as Record<string, unknown>[]
  if (has(performance, 'card of another host')) Object.assign(only ?? {}, { url: elsewhere.url })
  if (has(performance, 'card of another version')) Object.assign(only ?? {}, { protocolVersion: '9.1' })
  if (has(performance, 'card without URLs')) card['supportedInterfaces'] = []
  if (has(performance, 'unknown fields')) card['extra'] = { deep: [null] }
  const text = isLike('another shape') ? '{"name":7}' : isLike('null result') ? 'null' : JSON.stringify(card)
  const sent = {
    headers: { 'content-type': 'application/json' },
    body: isLike('garbage') ? `${text}}{` : text,
    filler: ' ',
  }
  await sendBadly(response, sent, { has: isLike, cuts: performance.cuts, elsewhere: elsewhere.url })
}

type Exchange = {
  body: { id: unknown; method: string; params?: { message?: { messageId: string } } }
  handler: JsonRpcTransportHandler
  headers: IncomingHttpHeaders
  elsewhere: Elsewhere
  secret: string
}

async function answerRpc(response: ServerResponse, act: Act, { body, handler, headers, elsewhere, secret }: Exchange) {
  const { performance } = act
  const message = body.params?.message
  if (message) act.messages.push({ id: message.messageId, key: String(headers['idempotency-key']) })
  if (body.method === 'CancelTask') act.cancelled += 1
  // Its other answers are right: what a task has become can be asked.
  const isRude = performance.where === 'message' && message !== undefined
  const isLike = (manner: string) => isRude && (performance.manners as string[]).includes(manner)
  if (isLike('status 500')) return void response.writeHead(500).end()
  if (isLike('status 401')) return void response.writeHead(401).end(`who is ${secret}?`)
  if (isLike('HTML')) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>')
  const reply = await handler.handle(body as never, new ServerCallContext({ requestedVersion: '1.0' }))
  const isStream = Symbol.asyncIterator in reply
  const replies: unknown[] = isStream ? [] : [reply]
  if (isStream) for await (const event of reply) replies.push(event)
  const texts = replies.map((one) => JSON.stringify(spoilt(one as Record<string, unknown>, isLike)))
  const newline = isLike('CRLF') ? '\r\n' : '\n'
  const comment = isLike('comments') ? `: a comment${newline}` : ''
  const whole = isStream ? texts.map((text) => `${comment}data: ${text}${newline}${newline}`) : texts
  // The task is known by the first event.
  const isBroken = isLike('breaks off in between') && isStream && whole.length > 1
  const all = (isBroken ? whole.slice(0, 1) : whole).join('') + (isLike('garbage') ? '\n\ndata: {"result": [\n\n' : '')
  const sent = {
    headers: { 'content-type': isStream ? 'text/event-stream' : 'application/json' },
    body: all,
    filler: isStream ? ': still here\n\n' : ' ',
    staysOpen: isLike('open after the end') && isStream,
  }
  await sendBadly(response, sent, { has: isLike, cuts: performance.cuts, elsewhere: elsewhere.url })
}

function spoilt(reply: Record<string, unknown>, isLike: (manner: Manner) => boolean): Record<string, unknown> {
  const { jsonrpc, id } = reply
  if (isLike('error in 200')) return { jsonrpc, id, error: { code: -32_603, message: 'out of order' } }
  if (isLike('wrong id')) return { ...reply, id: 4_711 }
  if (isLike('null result')) return { jsonrpc, id, result: null }
  if (isLike('another shape')) return { jsonrpc, id, result: { task: { id: 7, status: [] } } }
  return isLike('unknown fields') ? { ...reply, extra: { deep: [null] } } : reply
}

const partOf = (value: string): Part => ({
  content: { $case: 'text', value },
  metadata: undefined,
  filename: '',
  mediaType: '',
})

function executorOf(act: Act, secret: string): AgentExecutor {
  const { performance } = act
  const { said } = performance
  const isLike = (manner: Manner) => performance.where === 'message' && has(performance, manner)
  return {
    async execute({ taskId, contextId, userMessage }, bus) {
      act.worked += 1
      const of = { taskId, contextId, metadata: undefined }
      const message = (text: string): Message => ({
        messageId: crypto.randomUUID(),
        taskId,
        contextId,
        role: Role.ROLE_AGENT,
        parts: [partOf(text)],
        metadata: undefined,
        extensions: [],
        referenceTaskIds: [],
      })
      const text = said.join('\n\n')
      if (isLike('only a message')) {
        bus.publish(AgentEvent.message({ ...message(text), taskId: '' }))
        return void bus.finished()
      }
      const submitted = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: undefined }
      const task: Task = {
        id: taskId,
        contextId,
        status: submitted,
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }
      bus.publish(AgentEvent.task(task))
      const tell = (state: TaskState, words?: string) => {
        const status = {
          state,
          message: words === undefined ? undefined : message(words),
          timestamp: new Date().toISOString(),
        }
        bus.publish(AgentEvent.statusUpdate({ ...of, status }))
      }
      if (isLike('works first')) tell(TaskState.TASK_STATE_WORKING, 'thinking')
      const words = isLike('says the secret') ? `no: ${secret}` : 'out of order'
      if (isLike('fails') || isLike('says the secret')) tell(TaskState.TASK_STATE_FAILED, words)
      else if (isLike('rejects')) tell(TaskState.TASK_STATE_REJECTED, words)
      else if (isLike('wants a sign-in')) tell(TaskState.TASK_STATE_AUTH_REQUIRED, words)
      else if (isLike('says nothing')) tell(TaskState.TASK_STATE_COMPLETED)
      else if (isLike('says it in the status')) tell(TaskState.TASK_STATE_COMPLETED, text)
      else {
        for (const [i, one] of said.entries()) {
          const artifact = { artifactId: `a${i}`, name: '', description: '', metadata: undefined, extensions: [] }
          bus.publish(
            AgentEvent.artifactUpdate({
              ...of,
              artifact: { ...artifact, parts: [partOf(one)] },
              append: false,
              lastChunk: true,
            }),
          )
        }
        tell(TaskState.TASK_STATE_COMPLETED)
      }
      bus.finished()
    },
    async cancelTask(_taskId, bus) {
      bus.finished()
    },
  }
}
