// An authorization server that misbehaves by seed, the API or MCP server that accepts its tokens, and the model that calls it.
import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
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

const ANSWER_MANNERS = {
  ...WIRE_MANNERS,
  ...RUDE_MANNERS,
  'unknown fields': 'fair',
  'answered twice': 'foul',
  'status 500': 'foul',
  'status 429': 'foul',
  HTML: 'foul',
  'too large': 'foul',
  'an array': 'foul',
  'says what it was sent': 'foul',
} as const satisfies Manners

const METADATA_MANNERS = {
  ...ANSWER_MANNERS,
  'wrong issuer': 'foul',
  'no issuer': 'foul',
  'no token endpoint': 'foul',
  'endpoints are numbers': 'foul',
} as const satisfies Manners

const TOKEN_MANNERS = {
  ...ANSWER_MANNERS,
  'bearer in capitals': 'fair',
  'expires_in as text': 'fair',
  'expires at once': 'fair',
  'expires never': 'fair',
  'no scope': 'fair',
  'an odd ID token': 'fair',
  'the same refresh token': 'fair',
  'no access token': 'foul',
  'no token type': 'foul',
  'another token type': 'foul',
  'token is a number': 'foul',
  'token with a line break': 'foul',
  'token is too long': 'foul',
  'expired long ago': 'foul',
  'error in 200': 'foul',
  'busy in 400': 'foul',
  'no refresh token': 'foul',
} as const satisfies Manners

const REFRESH_MANNERS = { ...TOKEN_MANNERS, 'grant has ended': 'foul' } as const satisfies Manners

const BACK_MANNERS = {
  'wrong state': 'foul',
  'wrong issuer': 'foul',
  'no issuer': 'foul',
  declined: 'foul',
  'opened twice': 'fair',
  'more parameters': 'fair',
} as const satisfies Manners

const MANNERS = {
  metadata: METADATA_MANNERS,
  back: BACK_MANNERS,
  code: TOKEN_MANNERS,
  refresh: REFRESH_MANNERS,
  revoke: ANSWER_MANNERS,
} as const satisfies Record<string, Manners>

export type Place = keyof typeof MANNERS
export type Manner = { [At in Place]: keyof (typeof MANNERS)[At] }[Place]

export type Performance = {
  seed: number
  kind: 'http' | 'mcp'
  /** Where it misbehaves. */
  at: Place
  manners: Manner[]
  cuts: number[]
  /** How many calls the model makes at once. */
  count: number
  /** A user's sign-in is ended by the application. */
  revokes: boolean
}

export function performanceOf(seed: number): Performance {
  const random = randomOf(seed)
  const kind = random.of(['http', 'mcp'] as const)
  const at = random.of<Place>(['metadata', 'back', 'code', 'refresh', 'refresh', 'refresh', 'revoke'])
  const manners = mannersOf<string>(random, MANNERS[at] as Manners)
  const said = { manners: [...manners] as Manner[], cuts: cutsOf(random) }
  return { seed, kind, at, ...said, count: 1 + random.below(3), revokes: random.chance(0.3) }
}

export const isFair = ({ at, manners }: Performance) =>
  manners.every((manner) => (MANNERS[at] as Manners)[manner] === 'fair')

export const CLIENT = { id: 'moorage', secret: 'shh-"client"/secret+more&less=7' }

/** What a user has allowed. `refresh` is the token that can be used next. */
type Grant = { user: string; refresh: string; access: Set<string>; isEnded: boolean; isRevoked: boolean }

export type Act = {
  performance: Performance
  /** It behaves from now on. */
  isPolite: boolean
  grants: Grant[]
  /** Every token, code and secret. No text may contain them. */
  given: Set<string>
  /** Calls of the API: for whom they were made, and whose token they had. */
  calls: { asked: string; whose: string | undefined }[]
  /** What nobody should ever send. */
  wrong: string[]
  /** Refreshes that are being answered, and those that were answered with new tokens. */
  refreshing: Set<string>
  refreshed: Set<string>
  codes: Map<string, { user: string; challenge: string }>
  busy: Set<ServerResponse>
}

export type HostileOAuth = Pick<HostileServer, 'url' | 'host' | 'elsewhere' | 'close'> & {
  /** What is below the path `/<name>` from now on. The model of the agent calls it. */
  begin(name: string, performance: Performance, model: string): Act
}

export async function openHostileOAuth(): Promise<HostileOAuth> {
  const acts = new Map<string, Act>()
  const models = new Map<string, Act>()
  const server = await openHostileServer(async (request, response, elsewhere) => {
    const body = await readBody(request)
    const { pathname, searchParams } = new URL(request.url ?? '', server.url)
    if (pathname === '/v1/chat/completions') {
      const asked = JSON.parse(body)
      return answerAsModel(response, asked, models.get(asked.model) as Act)
    }
    const name = pathname.split('/').find((part) => acts.has(part)) ?? ''
    const act = acts.get(name)
    if (!act) return void response.writeHead(404).end()
    watchBusy(act.busy, response)
    const issuer = `${server.url}/${name}`
    const path = pathname.replace(`/${name}`, '')
    await answer({ request, response, body, path, query: searchParams, issuer, act, elsewhere })
  })
  return {
    ...server,
    begin(name, performance, model) {
      const act: Act = {
        performance,
        isPolite: false,
        grants: [],
        given: new Set([CLIENT.secret]),
        calls: [],
        wrong: [],
        refreshing: new Set(),
        refreshed: new Set(),
        codes: new Map(),
        busy: new Set(),
      }
      acts.set(name, act)
      models.set(model, act)
      return act
    },
  }
}

type Message = { role: string; content: unknown }

/** It calls the tool for the user whom the message names, or else the one with which the user can sign in. */
function answerAsModel(
  response: ServerResponse,
  { messages, tools = [] }: { messages: Message[]; tools?: { function: { name: string } }[] },
  { performance }: Act,
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const said = JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content)
  if (messages.at(-1)?.role === 'tool') response.write(chatChunk({ content: 'done' }) + chatChunk({}, 'stop'))
  else {
    const names = tools.map((tool) => tool.function.name)
    const name = names.find((one) => one.endsWith('whoami')) ?? names[0]
    const calls = Array.from({ length: performance.count }, (_, index) => {
      const args = name?.endsWith('whoami') ? { for: /go for (\w+)/.exec(said)?.[1], number: index } : {}
      return { index, id: `call_${index}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }
    })
    response.write(chatChunk({ tool_calls: calls }) + chatChunk({}, 'tool_calls'))
  }
  response.end('data: [DONE]\n\n')
}

type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  body: string
  path: string
  query: URLSearchParams
  issuer: string
  act: Act
  elsewhere: Elsewhere
}

async function answer(exchange: Exchange): Promise<void> {
  const { request, path, response, issuer } = exchange
  if (path === '/authorize') return authorize(exchange)
  if (path === '/whoami' || path === '/mcp') return answerCall(exchange)
  if (path === '/.well-known/oauth-protected-resource/mcp')
    return say(response, 200, { resource: `${issuer}/mcp`, authorization_servers: [issuer] })
  if (path === '/.well-known/oauth-authorization-server') return answerBadly(exchange, 'metadata', metadataOf(exchange))
  if (path === '/register') return say(response, 201, { ...JSON.parse(exchange.body), client_id: 'registered' })
  if (path === '/revoke') return revoke(exchange)
  if (path === '/token') return token(exchange)
  response.writeHead(request.method === 'GET' ? 404 : 405).end()
}

function say(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

const hasAt =
  ({ isPolite, performance }: Act, at: Place) =>
  (manner: Manner) =>
    !isPolite && performance.at === at && performance.manners.includes(manner)

/** The right answer, spoilt by the manners of this place. */
async function answerBadly({ response, body, act, elsewhere }: Exchange, at: Place, right: object): Promise<void> {
  const has = hasAt(act, at)
  const status = has('status 500') ? 500 : has('status 429') ? 429 : has('says what it was sent') ? 400 : 200
  const said = has('says what it was sent')
    ? { error: 'invalid_request', error_description: `cannot read ${body}${decodeURIComponent(body)}` }
    : right
  const more = has('unknown fields') ? { 'x.example/y': [null], extra: { deep: [{}] } } : {}
  const text = has('HTML')
    ? '<html>Sign in</html>'
    : has('an array')
      ? '[]'
      : JSON.stringify({ ...said, ...more, ...(has('too large') && { padding: 'x'.repeat(400_000) }) })
  const headers = { 'content-type': has('HTML') ? 'text/html' : 'application/json' }
  const { socket } = response
  await sendBadly(
    response,
    { status, headers, body: text, filler: ' ' },
    { has: (manner) => has(manner), cuts: act.performance.cuts, elsewhere: elsewhere.url },
  )
  if (has('answered twice'))
    socket?.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
}

function metadataOf({ issuer, act, elsewhere }: Exchange): object {
  const has = hasAt(act, 'metadata')
  const named = has('wrong issuer') ? elsewhere.url : issuer
  const token_endpoint = has('endpoints are numbers') ? 7 : `${issuer}/token`
  return {
    ...(!has('no issuer') && { issuer: named }),
    authorization_endpoint: `${issuer}/authorize`,
    ...(!has('no token endpoint') && { token_endpoint }),
    revocation_endpoint: `${issuer}/revoke`,
    registration_endpoint: `${issuer}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'none'],
  }
}

/** The user who opened the page, whose name the browser brings along, is sent back. */
function authorize({ response, query, issuer, act, elsewhere }: Exchange): void {
  const has = hasAt(act, 'back')
  const code = newToken('code', act)
  act.codes.set(code, { user: query.get('login') ?? '', challenge: query.get('code_challenge') ?? '' })
  const back = new URL(query.get('redirect_uri') ?? '')
  back.searchParams.set('state', has('wrong state') ? 'another' : (query.get('state') ?? ''))
  if (!has('no issuer')) back.searchParams.set('iss', has('wrong issuer') ? elsewhere.url : issuer)
  if (has('declined')) back.searchParams.set('error', 'access_denied')
  else back.searchParams.set('code', code)
  if (has('more parameters')) back.searchParams.set('session_state', 'x.y')
  response.writeHead(302, { location: back.href }).end()
}

/** Characters that are written differently in JSON and in URLs. */
export const TOKEN_END = '/+%41&='

function newToken(kind: string, { given }: Act): string {
  const made = `${kind}-"${randomUUID()}"${TOKEN_END}`
  given.add(made)
  return made
}

async function token(exchange: Exchange): Promise<void> {
  const { response, body, act } = exchange
  const form = new URLSearchParams(body)
  const isCode = form.get('grant_type') === 'authorization_code'
  const at = isCode ? 'code' : 'refresh'
  const has = hasAt(act, at)
  if (isCode) {
    const code = act.codes.get(form.get('code') ?? '')
    act.codes.delete(form.get('code') ?? '')
    const challenge = createHash('sha256').update(form.get('code_verifier') ?? '')
    if (code?.challenge !== challenge.digest('base64url')) return say(response, 400, { error: 'invalid_grant' })
    const grant: Grant = { user: code.user, refresh: '', access: new Set(), isEnded: false, isRevoked: false }
    act.grants.push(grant)
    return answerBadly(exchange, at, tokensOf(grant, act, has))
  }
  const sent = form.get('refresh_token') ?? ''
  if (act.refreshing.has(sent)) act.wrong.push('a refresh token was sent twice at the same time')
  if (act.refreshed.has(sent)) act.wrong.push('a refresh token was used again after its answer')
  const grant = act.grants.find(({ refresh }) => refresh === sent)
  // Also if it was used before and the answer was lost: nobody knows who has the new one.
  const ended = grant ?? act.grants.find(({ access }) => access.has(`after ${sent}`))
  if (ended && (!grant || has('grant has ended'))) ended.isEnded = true
  if (!grant || grant.isEnded) return say(response, 400, { error: 'invalid_grant' })
  if (has('busy in 400')) return say(response, 400, { error: 'temporarily_unavailable' })
  act.refreshing.add(sent)
  const tokens = tokensOf(grant, act, has)
  response.once('close', () => act.refreshing.delete(sent))
  response.once('finish', () => {
    const isRight = act.isPolite || act.performance.at !== 'refresh' || isFair(act.performance)
    if (isRight && grant.refresh !== sent) act.refreshed.add(sent)
  })
  await answerBadly(exchange, at, has('error in 200') ? { error: 'invalid_request' } : tokens)
}

function tokensOf(grant: Grant, act: Act, has: (manner: Manner) => boolean): object {
  const access = newToken('at', act)
  grant.access.add(access)
  if (grant.refresh === '' || !has('the same refresh token')) {
    // So that it is known whose token it was.
    grant.access.add(`after ${grant.refresh}`)
    grant.refresh = newToken('rt', act)
  }
  const odd = has('token is a number')
    ? 7
    : has('token with a line break')
      ? `${access}\r\nx-injected: 1`
      : has('token is too long')
        ? access.padEnd(40_000, 'x')
        : access
  const expires = has('expires at once') ? 0 : has('expired long ago') ? -9 : has('expires_in as text') ? '3600' : 3_600
  const type = has('bearer in capitals') ? 'BEARER' : has('another token type') ? 'mac' : 'Bearer'
  return {
    ...(!has('no access token') && { access_token: odd }),
    ...(!has('no refresh token') && { refresh_token: grant.refresh }),
    ...(!has('no token type') && { token_type: type }),
    ...(!has('expires never') && { expires_in: expires }),
    ...(!has('no scope') && { scope: 'read' }),
    ...(has('an odd ID token') && { id_token: 'not.a.token' }),
  }
}

async function revoke(exchange: Exchange): Promise<void> {
  const { body, act } = exchange
  const sent = new URLSearchParams(body).get('token') ?? ''
  for (const grant of act.grants) {
    if (grant.refresh === sent || grant.access.has(sent)) grant.isRevoked = true
  }
  await answerBadly(exchange, 'revoke', {})
}

/** The API, and the MCP server: both say whose token they were sent, and the token too. */
function answerCall({ request, response, body, path, issuer, act }: Exchange): void {
  const sent = (request.headers.authorization ?? '').replace('Bearer ', '')
  const grant = act.grants.find(({ access, isEnded }) => !isEnded && access.has(sent))
  const isMcp = path === '/mcp'
  if (!grant) {
    const challenge = `Bearer resource_metadata="${issuer}/.well-known/oauth-protected-resource/mcp"`
    return say(response, 401, { error: 'invalid_token' }, isMcp ? { 'www-authenticate': challenge } : {})
  }
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const message = JSON.parse(body)
  const text = `you are ${grant.user} with ${sent} and ${JSON.stringify({ sent })}`
  if (!isMcp || message.method === 'tools/call')
    act.calls.push({ asked: (isMcp ? message.params.arguments : message).for, whose: grant.user })
  if (!isMcp) return void response.end(text)
  if (message.id === undefined) return void response.writeHead(202).end()
  const serverInfo = { name: 'hostile', version: '1.0.0' }
  const results: Record<string, object> = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo },
    'tools/list': { tools: [{ name: 'whoami', description: 'Says who you are.', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text }] },
  }
  say(response, 200, { jsonrpc: '2.0', id: message.id, result: results[message.method] ?? {} })
}

/** The API no longer accepts what it accepted before. */
export function expireAll({ grants }: Act): void {
  for (const grant of grants) for (const one of grant.access) if (!one.startsWith('after')) grant.access.delete(one)
}
