// Tools and MCP servers that misbehave by seed.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { chatChunk } from '../../support/outside/chat-chunk.ts'
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

const HTTP_MANNERS = {
  ...WIRE_MANNERS,
  ...RUDE_MANNERS,
  latin1: 'fair',
  'utf-16': 'fair',
  'unknown charset': 'fair',
  'no content type': 'fair',
  'content type of bytes': 'fair',
  'byte order mark': 'fair',
  'wrong charset': 'foul',
  'status 500': 'foul',
  'status 404': 'foul',
  'status 204': 'foul',
  'too large': 'foul',
  'says the secret': 'foul',
  'says the secret in an error': 'foul',
} as const satisfies Manners

const MCP_MANNERS = {
  ...WIRE_MANNERS,
  ...RUDE_MANNERS,
  'as events': 'fair',
  CRLF: 'fair',
  comments: 'fair',
  'notifications first': 'fair',
  'a request first': 'fair',
  'no session': 'fair',
  'list in pages': 'fair',
  'structured only': 'fair',
  'as a long file': 'foul',
  'unknown fields': 'fair',
  'answered twice': 'fair',
  'session lost in between': 'fair',
  'session lost at the call': 'foul',
  'endless list': 'foul',
  'wrong id': 'foul',
  'an array of nothing': 'foul',
  'error in 200': 'foul',
  isError: 'foul',
  'status 500': 'foul',
  'status 401': 'foul',
  HTML: 'foul',
  'too large': 'foul',
  'content is a text': 'foul',
  'schema without end': 'foul',
  'says the secret': 'foul',
  'says the secret in an error': 'foul',
} as const satisfies Manners

export type Manner = keyof typeof HTTP_MANNERS | keyof typeof MCP_MANNERS

export type Performance = {
  seed: number
  kind: 'http' | 'mcp'
  /** Of an MCP server: its manners begin with this request. Before, it is polite. */
  from: 'initialize' | 'tools/list' | 'tools/call'
  text: string
  manners: Manner[]
  cuts: number[]
  /** How many calls the model makes at once. */
  count: number
}

const TEXTS = ['forty-two', 'Grüße aus Møre', '{"not":"json"}', 'a\nb\r\n\r\nc', 'x'.repeat(3_000), 'data: [DONE]']

export const isFair = ({ manners, kind }: Performance) => {
  const all: Manners = kind === 'http' ? HTTP_MANNERS : MCP_MANNERS
  return manners.every((manner) => all[manner] === 'fair')
}

export function performanceOf(seed: number): Performance {
  const random = randomOf(seed)
  const kind = random.of(['http', 'mcp'] as const)
  const manners: Set<Manner> = kind === 'http' ? mannersOf(random, HTTP_MANNERS) : mannersOf(random, MCP_MANNERS)
  const from = random.of(['initialize', 'tools/list', 'tools/call', 'tools/call'] as const)
  const said = { text: random.of(TEXTS), manners: [...manners], cuts: cutsOf(random) }
  return { seed, kind, from, ...said, count: random.chance(0.4) ? 2 + random.below(2) : 1 }
}

/** What a tool was asked, and what came of it. */
export type Act = {
  performance: Performance
  /** The calls that it carried out. */
  calls: { args: unknown; headers: IncomingHttpHeaders }[]
  busy: Set<ServerResponse>
  sessions: Set<string>
}

export type HostileTools = Pick<HostileServer, 'url' | 'host' | 'elsewhere' | 'close'> & {
  /** What is at the path `/<name>` from now on. The model of the agent calls it. */
  begin(name: string, performance: Performance, model: string): Act
}

export async function openHostileTools(secret: string): Promise<HostileTools> {
  const acts = new Map<string, Act>()
  const models = new Map<string, Act>()
  const server = await openHostileServer(async (request, response, elsewhere) => {
    const body = JSON.parse((await readBody(request)) || 'null')
    if (request.url?.startsWith('/v1/')) return answerAsModel(response, body, models.get(body.model) as Act)
    const act = acts.get((request.url ?? '').slice(1)) as Act
    watchBusy(act.busy, response)
    const { headers } = request
    const answer = act.performance.kind === 'http' ? answerCall : answerRpc
    await answer({ request, headers, response, body, act, elsewhere, secret })
  })
  return {
    ...server,
    begin(name, performance, model) {
      const act: Act = { performance, calls: [], busy: new Set(), sessions: new Set() }
      acts.set(name, act)
      models.set(model, act)
      return act
    },
  }
}

/** The arguments of a call, so that each can be told from the others. */
export const argumentsOf = ({ count }: Performance): object[] =>
  Array.from({ length: count }, (_, i) => ({ berth: 7 + i }))

/** It calls the tool, several times at once, and answers with what came. */
function answerAsModel(response: ServerResponse, body: { messages: { role: string }[] }, { performance }: Act): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  if (body.messages.at(-1)?.role === 'tool') response.write(chatChunk({ content: 'done' }) + chatChunk({}, 'stop'))
  else {
    const calls = argumentsOf(performance).map((args, index) => {
      const called = { name: 'act', arguments: JSON.stringify(args) }
      return { index, id: `call_${index}`, type: 'function', function: called }
    })
    response.write(chatChunk({ tool_calls: calls }) + chatChunk({}, 'tool_calls'))
  }
  response.end('data: [DONE]\n\n')
}

type Exchange = {
  request: IncomingMessage
  headers: IncomingHttpHeaders
  response: ServerResponse
  // Whatever came.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
  act: Act
  elsewhere: Elsewhere
  secret: string
}

async function answerCall({ headers, response, body: args, act, elsewhere, secret }: Exchange): Promise<void> {
  const { performance } = act
  const has = (manner: Manner) => performance.manners.includes(manner)
  act.calls.push({ args, headers })
  const isError = has('status 500') || has('status 404') || has('says the secret in an error')
  const said =
    has('says the secret') || has('says the secret in an error') ? `${performance.text} ${secret}` : performance.text
  const text = has('too large') ? 'x'.repeat(300_000) : said
  const status = has('status 204') ? 204 : isError ? (has('status 404') ? 404 : 500) : 200
  const sent = { status, ...encoded(text, has), filler: 'and so on\n' }
  if (status === 204) return void response.writeHead(204).end()
  await sendBadly(response, sent, { has, cuts: performance.cuts, elsewhere: elsewhere.url })
}

function encoded(text: string, has: (manner: Manner) => boolean): { headers: Record<string, string>; body: Buffer } {
  const plain = Buffer.from(has('byte order mark') ? `\ufeff${text}` : text)
  const type = (charset: string) => ({ 'content-type': `text/plain; charset=${charset}` })
  if (has('wrong charset')) return { headers: type('utf-16le'), body: plain }
  if (has('utf-16')) return { headers: type('"UTF-16LE"'), body: Buffer.from(text, 'utf16le') }
  if (has('latin1')) return { headers: type('iso-8859-1'), body: Buffer.from(text, 'latin1') }
  if (has('unknown charset')) return { headers: type('x-unheard-of'), body: plain }
  if (has('no content type')) return { headers: {}, body: plain }
  if (has('content type of bytes')) return { headers: { 'content-type': 'application/octet-stream' }, body: plain }
  return { headers: type('utf-8'), body: plain }
}

const ORDER = ['initialize', 'tools/list', 'tools/call']

async function answerRpc(exchange: Exchange): Promise<void> {
  const { request, headers, response, body: message, act, elsewhere, secret } = exchange
  const { performance } = act
  if (request.method === 'DELETE') return void response.writeHead(200).end()
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const at = ORDER.indexOf(message?.method)
  const isRude = at >= ORDER.indexOf(performance.from)
  const has = (manner: Manner) => isRude && performance.manners.includes(manner)
  const session = headers['mcp-session-id']
  if (session !== undefined && !act.sessions.has(String(session))) return void response.writeHead(404).end()
  if (has('session lost at the call') && message.method === 'tools/call') return void response.writeHead(404).end()
  if (message.id === undefined) return void response.writeHead(202).end()
  if (at < 0) {
    const error = { code: -32_601, message: 'Method not found' }
    return void response.writeHead(200, { 'content-type': 'application/json' }).end(rpc(message.id, { error }))
  }
  const own: Record<string, string> = {}
  if (message.method === 'initialize' && !has('no session')) {
    own['mcp-session-id'] = `session-${act.sessions.size + 1}`
    act.sessions.add(own['mcp-session-id'])
  }
  if (message.method === 'tools/call') act.calls.push({ args: message.params?.arguments, headers })
  if (has('status 401')) return void response.writeHead(401).end()
  if (has('HTML')) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>')
  const status = has('status 500') ? 500 : 200
  const isEvents = has('as events') || has('notifications first') || has('a request first') || has('answered twice')
  const answer = has('an array of nothing')
    ? '[]'
    : rpc(has('wrong id') ? 4_711 : message.id, outcome(message, performance, has, secret))
  const type = isEvents ? 'text/event-stream' : 'application/json'
  const sent = { status, headers: { ...own, 'content-type': type }, filler: isEvents ? ': still here\n\n' : ' ' }
  const content = isEvents ? eventsOf(answer, has) : answer
  await sendBadly(response, { ...sent, body: content }, { has, cuts: performance.cuts, elsewhere: elsewhere.url })
}

const rpc = (id: unknown, said: object) => JSON.stringify({ jsonrpc: '2.0', id, ...said })

function eventsOf(answer: string, has: (manner: Manner) => boolean): string {
  const note = { method: 'notifications/message', params: { level: 'info', data: 'working' } }
  const request = { id: 'their-1', method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } }
  const messages = [
    ...(has('notifications first') ? [JSON.stringify({ jsonrpc: '2.0', ...note })] : []),
    ...(has('a request first') ? [JSON.stringify({ jsonrpc: '2.0', ...request })] : []),
    answer,
    ...(has('answered twice') ? [answer] : []),
  ]
  const newline = has('CRLF') ? '\r\n' : '\n'
  const comment = has('comments') ? `: a comment${newline}` : ''
  return messages.map((data) => `${comment}event: message${newline}data: ${data}${newline}${newline}`).join('')
}

type Message = { method: string; params?: { cursor?: string } }

function outcome({ method, params }: Message, { text }: Performance, has: (manner: Manner) => boolean, secret: string) {
  if (has('says the secret in an error')) return { error: { code: -32_000, message: `bad token ${secret}` } }
  if (has('error in 200')) return { error: { code: -32_603, message: 'out of order' } }
  const more = has('unknown fields') ? { _meta: { 'x.example/y': [null] }, extra: { deep: [{}] } } : {}
  if (method === 'initialize') {
    const serverInfo = { name: 'hostile', version: '1.0.0' }
    return { result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo, ...more } }
  }
  if (method === 'tools/list') {
    const endless = { $ref: '#/$defs/a' }
    const schema = has('schema without end') ? { ...endless, $defs: { a: endless } } : {}
    const tool = { name: 'act', description: 'Acts.', inputSchema: { type: 'object', ...schema }, ...more }
    const isFirst = params?.cursor === undefined
    if (has('endless list')) return { result: { tools: isFirst ? [tool] : [], nextCursor: 'again' } }
    if (has('list in pages') && isFirst) return { result: { tools: [{ ...tool, name: 'other' }], nextCursor: 'two' } }
    return { result: { tools: [tool] } }
  }
  const said = has('says the secret') ? `${text} ${secret}` : text
  const whole = has('too large') ? 'x'.repeat(1_200_000) : said
  if (has('content is a text')) return { result: { content: whole } }
  if (has('as a long file')) {
    const blob = Buffer.from('a word '.repeat(40_000)).toString('base64')
    const resource = { uri: 'file:///notes.txt', mimeType: 'text/plain', blob }
    return { result: { content: [{ type: 'resource', resource }] } }
  }
  if (has('structured only')) return { result: { content: [], structuredContent: { said: whole }, ...more } }
  return { result: { content: [{ type: 'text', text: whole }], ...(has('isError') && { isError: true }), ...more } }
}

/** The result that a careful reader gets. */
export function resultOf({ kind, manners, text }: Performance): string {
  return kind === 'mcp' && manners.includes('structured only') ? JSON.stringify({ said: text }) : text
}
