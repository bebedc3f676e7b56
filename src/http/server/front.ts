import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { ApiError, badRequest } from '../../errors.ts'
import type { Logger } from '../../lib/log.ts'
import { type IpList, ipList } from '../../security/ip-list.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { Span, Tracer } from '../../telemetry/tracing.ts'
import type { Route } from '../dialects/dialect.ts'
import { dialectOf, dialects } from '../dialects/dialects.ts'
import { checkBodyHeaders } from '../input/body.ts'
import type { Edge } from '../pipeline/edge.ts'
import { authorise } from '../pipeline/guards/authorise.ts'
import { authorisePublic } from '../pipeline/guards/authorise-public.ts'
import { isForwardedSecure } from '../pipeline/guards/client-address.ts'
import { isPreflight } from '../pipeline/guards/cors.ts'
import { promiseHttps } from '../pipeline/guards/pass-gate.ts'
import { checkMessage } from '../pipeline/guards/visitor.ts'
import { countRequest, endOfAccess, type Pipeline, pipeline } from '../pipeline/pipeline.ts'
import type { ArrivedRequest, AuthorizedCall, PathParams } from '../pipeline/request.ts'
import { AgentChanges } from './agent-changes.ts'
import type { Endpoint } from './endpoint.ts'
import { OpenStreams } from './open-streams.ts'
import { ReplyRoom } from './replies/reply-room.ts'
import { Router } from './router.ts'

const MAX_HEADERS = 100
const KEY_IN_URL = /(?:^|&)(api_key|apikey|access_token|key|token|secret)=/gi
/** Headers that may occur only once. If one is sent twice, a proxy on the way may have used the other value. */
const ONCE = new Set(['host', 'authorization', 'content-type'])
/** Most other headers can be skipped by the length of their name. */
const LENGTHS_OF_ONCE = new Set([...ONCE].map(({ length }) => length))

/** What the server needs for every request. */
export type Front = {
  edge: Edge
  steps: Pipeline
  routes: readonly Route[]
  /** All endpoints, by method and path. */
  endpoints: Router<Endpoint>
  trusted: IpList
  requests: RequestLog
  agentChanges: AgentChanges
  streams: OpenStreams
  replies: ReplyRoom
}

export function openFront(edge: Edge): Front {
  const { config, storage } = edge.parts
  const routes = dialects.flatMap((dialect) => dialect.routes(edge.operations))
  const steps = pipeline(edge)
  return {
    edge,
    steps,
    routes,
    endpoints: new Router(),
    trusted: ipList(config.server.trustedProxies),
    requests: new RequestLog(edge.parts),
    agentChanges: new AgentChanges(storage),
    streams: new OpenStreams(edge.parts, (known) => endOfAccess(edge, known)),
    replies: new ReplyRoom(),
  }
}

/** Reports each request to the operator, in the service's log and in its telemetry. */
class RequestLog {
  readonly #log: Logger
  readonly #telemetry: Telemetry
  /**
   * Whether every request is logged. If the log level is above `info`, only failures are logged, and the service
   * needn't follow every reply to its end, which would be costly.
   */
  readonly all: boolean

  constructor({ log, telemetry }: { log: Logger; telemetry: Telemetry }) {
    this.#log = log
    this.#telemetry = telemetry
    this.all = log.isLevelEnabled('info')
  }

  /** Counts a request whose reply is about to be sent. */
  count({ route, started, request_id, span, trace }: ArrivedRequest, status: number): void {
    const operation = route?.operation.id ?? 'none'
    this.#telemetry.requests.add(1, operation, String(status))
    this.#telemetry.requestSeconds.add((performance.now() - started) / 1000, operation)
    if (status === 429 && trace.actor) this.#telemetry.projectLimited.add(trace.actor.scope.project_id)
    span?.set({ 'http.response.status_code': status, 'moorage.request_id': request_id })
    // A client's mistake isn't an error of the service.
    span?.end(status >= 500 ? String(status) : undefined)
  }

  /** Logs the path of the operation but never the query, because the query may contain what people typed. */
  answered(arrived: ArrivedRequest, status: number): void {
    const { request_id, message, dialect, route, path, started, trace } = arrived
    const line = {
      request_id,
      door: dialect.door,
      method: message.method,
      path: route?.path ?? withoutToken(path).slice(0, 200),
      status,
      ms: Math.round((performance.now() - started) * 10) / 10,
      actor: trace.actor?.id,
      agent: trace.agent_id ?? undefined,
    }
    this.#log[status >= 500 ? 'error' : 'info'](line, 'request')
  }

  /** Logs a request that the router never saw. */
  unreadable(socket: Socket, request_id: string, status: number): void {
    this.#log.info({ request_id, status, address: socket.remoteAddress }, 'unreadable request')
  }

  flood(socket: Socket): void {
    this.#log.info(
      { address: socket.remoteAddress },
      'a connection was closed because too many requests were waiting on it',
    )
  }
}

/** Creates the first stage of a request, before anything is known about it. */
export function arrive(
  { edge, trusted }: Front,
  message: IncomingMessage,
  { path, query }: { path: string; query: string },
  found: { route: Route | undefined; params: PathParams },
): ArrivedRequest {
  const { newId, now, tracer } = edge.parts
  const { route, params } = found
  const request_id = newId('req', now())
  const dialect = route?.dialect ?? dialectOf(path)
  const { socket } = message
  const isForwarded = message.headers['x-forwarded-proto'] !== undefined
  const arrived: ArrivedRequest = {
    message,
    dialect,
    route,
    params,
    request_id,
    started: performance.now(),
    path,
    query,
    headers: route?.deprecation
      ? { ...dialect.headers(request_id), ...route.deprecation }
      : dialect.headers(request_id),
    secure: (socket as TLSSocket).encrypted || (isForwarded && isForwardedSecure(message, trusted)),
    address: socket.remoteAddress ?? '',
    rate: undefined,
    bytes: undefined,
    cors: undefined,
    visitor: undefined,
    key: undefined,
    trace: { actor: null, agent_id: null },
    span: undefined,
  }
  const { hsts } = edge.service.gate
  if (hsts !== undefined) promiseHttps(arrived, hsts)
  return tracer ? { ...arrived, span: beginRequest(tracer, arrived) } : arrived
}

/** Everybody who knows the URL of a trigger or a link can send requests there, so it isn't written anywhere. */
function withoutToken(path: string): string {
  return path.replace(/^\/v1\/in\/.*/, '/v1/in/{token}').replace(/^\/chat\/[^/]+/, '/chat/{token}')
}

function beginRequest(tracer: Tracer, { message, route, path, secure }: ArrivedRequest): Span {
  const { method = '', headers } = message
  const name = route ? `${method} ${route.path}` : method
  const attributes = {
    'http.request.method': method,
    'url.path': withoutToken(path),
    'url.scheme': secure ? 'https' : 'http',
    ...(route && { 'http.route': route.path }),
  }
  return tracer.begin(name, 'server', attributes, headers['traceparent'] as string | undefined)
}

/** Refuses what no later step should ever see, including a key in the URL, because proxies log URLs. */
function checkTransport({ message, path, query, route }: ArrivedRequest): void {
  const { rawHeaders, httpVersion, headers } = message
  if (rawHeaders.length > MAX_HEADERS * 2) {
    throw new ApiError('headers_too_large', `A request can have at most ${MAX_HEADERS} headers.`)
  }
  const seen: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i] as string
    if (!LENGTHS_OF_ONCE.has(raw.length)) continue
    const name = raw.toLowerCase()
    if (!ONCE.has(name)) continue
    if (seen.includes(name)) throw badRequest(`The header ${name} appears more than once.`)
    seen.push(name)
  }
  if (!seen.includes('host') && httpVersion === '1.1')
    throw badRequest('The request must have exactly one Host header.')
  const coding = headers['transfer-encoding']
  // Node decodes only chunks. With any other coding, the body wouldn't be what it seems.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    throw badRequest('The only supported Transfer-Encoding is chunked.')
  }
  if (!path.startsWith('/') || path.includes('#') || path.includes('%00') || query.includes('%00')) {
    throw badTarget()
  }
  const isField = (name = '') => Object.hasOwn(route?.operation.input?.query?.shape ?? {}, name)
  if (query !== '' && query.matchAll(KEY_IN_URL).some(([, name]) => !isField(name))) {
    throw badRequest('Never send a key in the URL. Send it as Authorization: Bearer <key>')
  }
}

export function badTarget(): ApiError {
  return badRequest('The request target is not a valid path.')
}

export function lostId(): ApiError {
  return badRequest('The path ends with a slash. Add an ID, or remove the slash.')
}

/**
 * Takes a request through the steps before its body. The endpoint determines which steps those are. Rejects if the
 * request is refused. Returns undefined for a page.
 */
export async function letIn(
  { edge, steps, endpoints }: Front,
  arrived: ArrivedRequest,
  { open, probe }: Endpoint,
): Promise<AuthorizedCall | undefined> {
  checkTransport(arrived)
  if (probe) return undefined
  await steps.enter(arrived)
  if (open) return undefined
  // A preflight has no key. If the preflight isn't granted, it needs a key like every other request.
  if (arrived.cors && isPreflight(arrived)) {
    checkBodyHeaders(arrived)
    return undefined
  }
  const { route, params } = arrived
  const shown = route?.isOpenForPublicCards ? await authorisePublic(edge, arrived) : undefined
  if (shown) return shown
  const known = await countRequest(edge, await steps.authenticate(arrived))
  if (!route) throw notRouted(endpoints, arrived)
  const authorised = await authorise(edge, known, route.operation, params)
  checkBodyHeaders(arrived)
  if (route.isMessageOfVisitor) await checkMessage(edge, arrived)
  return authorised
}

/** The error 404, or 405 with the path's methods. */
function notRouted(endpoints: Router<Endpoint>, { path }: ArrivedRequest): ApiError {
  const methods = endpoints.methods(path, ({ forBrowsers }) => !forBrowsers)
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  if (allowed.length > 0) {
    const Allow = allowed.join(', ')
    return new ApiError('method_not_allowed', `This path doesn't support this method. Allowed: ${Allow}.`, {
      headers: { Allow },
    })
  }
  const hint = path.startsWith('/v1/') ? '' : ' Every API path starts with /v1.'
  return new ApiError('not_found', `There is nothing at this path.${hint}`)
}
