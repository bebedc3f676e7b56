import type { IncomingMessage } from 'node:http'
import { ApiError, unavailable } from '../../errors.ts'
import { within } from '../../lib/work/within.ts'
import { type IpList, ipList } from '../../security/ip-list.ts'
import type { Span, Tracer } from '../../telemetry/tracing.ts'
import type { Route } from '../dialects/dialect.ts'
import { dialectOf, dialects } from '../dialects/dialects.ts'
import type { Edge } from '../pipeline/edge.ts'
import { authorisePublic } from '../pipeline/guards/authorise-public.ts'
import { isSecure } from '../pipeline/guards/client-address.ts'
import { isPreflight } from '../pipeline/guards/cors.ts'
import { promiseHttps } from '../pipeline/guards/pass-gate.ts'
import { type Pipeline, pipeline } from '../pipeline/pipeline.ts'
import type { Arrived, Authorised, PathParams } from '../pipeline/request.ts'
import { AgentChanges } from './agent-changes.ts'
import type { Endpoint } from './endpoint.ts'
import { OpenStreams } from './open-streams.ts'
import { ReplyRoom } from './replies/reply-room.ts'
import { RequestLog } from './request-log.ts'
import { Router } from './router.ts'
import { checkBodyHeaders, checkTransport } from './transport.ts'

/** What the server keeps and uses for every request. */
export type Front = {
  edge: Edge
  steps: Pipeline
  routes: readonly Route[]
  /** Where requests go. */
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
    streams: new OpenStreams(edge.parts, steps.validUntil),
    replies: new ReplyRoom(),
  }
}

/** Makes the first stage of a request, before anything is known about it. */
export function arrive(
  { edge, trusted }: Front,
  message: IncomingMessage,
  { path, query }: { path: string; query: string },
  found: { route: Route | undefined; params: PathParams },
): Arrived {
  const { newId, now, tracer } = edge.parts
  const { route, params } = found
  const request_id = newId('req', now())
  const dialect = route?.dialect ?? dialectOf(path)
  const arrived: Arrived = {
    message,
    dialect,
    route,
    params,
    request_id,
    started: performance.now(),
    path,
    query,
    headers: dialect.headers(request_id),
    secure: isSecure(message, trusted),
    address: message.socket.remoteAddress ?? '',
    rate: undefined,
    bytes: undefined,
    cors: undefined,
    key: undefined,
    trace: { actor: null, agent_id: null },
    span: undefined,
  }
  promiseHttps(arrived, edge.gate())
  return tracer ? { ...arrived, span: beginRequest(tracer, arrived) } : arrived
}

function beginRequest(tracer: Tracer, { message, route, path, secure }: Arrived): Span {
  const { method = '', headers } = message
  const name = route ? `${method} ${route.path}` : method
  const attributes = {
    'http.request.method': method,
    'url.path': path,
    'url.scheme': secure ? 'https' : 'http',
    ...(route && { 'http.route': route.path }),
  }
  return tracer.begin(name, 'server', attributes, headers['traceparent'] as string | undefined)
}

/**
 * Takes a request through the steps that come before its body. The endpoint says which steps those are. Rejects when the
 * request is refused. Returns undefined for a page.
 */
export async function letIn(
  { edge, steps, endpoints }: Front,
  arrived: Arrived,
  { open, probe }: Endpoint,
): Promise<Authorised | undefined> {
  checkTransport(arrived)
  if (probe) return undefined
  await steps.enter(arrived)
  if (open) return undefined
  // A preflight carries no key. A preflight that is not granted needs a key, like every other request.
  if (isPreflight(arrived)) {
    checkBodyHeaders(arrived)
    return undefined
  }
  const shown = arrived.route?.isOpenForPublicCards ? await authorisePublic(edge, arrived) : undefined
  if (shown) return shown
  const identify = async () => {
    const known = await steps.count(await steps.authenticate(arrived))
    return steps.authorise(known, requireRoute(endpoints, arrived).operation, arrived.params)
  }
  const limit = arrived.route?.operation.knownWithinMs
  const authorised = await (limit === undefined ? identify() : within(limit, identify(), noAnswer))
  checkBodyHeaders(arrived)
  return authorised
}

function noAnswer(): ApiError {
  return unavailable('The database does not answer, try again shortly')
}

/** Returns the route that the router found. Throws a 404, or a 405 that names the methods of the path. */
function requireRoute(endpoints: Router<Endpoint>, { route, path }: Arrived): Route {
  if (route) return route
  const methods = endpoints.methods(path, ({ forBrowsers }) => !forBrowsers)
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  if (allowed.length > 0) {
    const Allow = allowed.join(', ')
    throw new ApiError('method_not_allowed', `This path takes ${Allow}`, { headers: { Allow } })
  }
  const hint = path.startsWith('/v1/') ? '' : ': every path starts with /v1'
  throw new ApiError('not_found', `No such path${hint}`)
}
