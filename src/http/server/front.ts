import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { withValue } from '../../lib/with-value.ts'
import { type IpList, ipList } from '../../security/ip-list.ts'
import type { Route } from '../dialects/dialect.ts'
import { dialects } from '../dialects/dialects.ts'
import type { Edge } from '../pipeline/edge.ts'
import { isSecure } from '../pipeline/guards/client-address.ts'
import { isPreflight } from '../pipeline/guards/cors.ts'
import { promiseHttps } from '../pipeline/guards/pass-gate.ts'
import { type Pipeline, pipeline } from '../pipeline/pipeline.ts'
import type { Admitted, Arrived, PathParams } from '../pipeline/stages.ts'
import { RequestLog } from './request-log.ts'
import { routeCheck } from './require-route.ts'
import { checkBodyHeaders, checkTransport } from './transport.ts'

declare module 'fastify' {
  interface FastifyRequest {
    arrived: Arrived
    /** Set for the handler of a route: the steps before it have admitted the request. */
    admitted: Admitted
  }
  interface FastifyContextConfig {
    route?: Route
    /** The route answers without a key. */
    open?: boolean
    /** The route answers whatever the settings say, because a health check must always reach it. */
    probe?: boolean
  }
}

/** What the server keeps and uses for every request. */
export type Front = {
  edge: Edge
  steps: Pipeline
  routes: readonly Route[]
  requireRoute(arrived: Arrived): Route
  trusted: IpList
  requests: RequestLog
}

export function openFront(edge: Edge): Front {
  const { config } = edge.parts
  const routes = dialects.flatMap((dialect) => dialect.routes(edge.operations))
  return {
    edge,
    steps: pipeline(edge),
    routes,
    requireRoute: routeCheck(routes),
    trusted: ipList(config.server.trustedProxies),
    requests: new RequestLog(edge.parts),
  }
}

/** Makes the first stage of a request, before anything is known about it. */
export function arrive({ edge, trusted }: Front, request: FastifyRequest, route: Route | undefined): Arrived {
  const { newId, now } = edge.parts
  const { raw: message, params } = request
  const target = message.url ?? '/'
  const mark = target.indexOf('?')
  const request_id = newId('req', now())
  const dialect = route?.dialect ?? dialects[0]
  const arrived: Arrived = {
    message,
    dialect,
    route,
    params: params as PathParams,
    request_id,
    started: performance.now(),
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? '' : target.slice(mark + 1),
    headers: dialect.headers(request_id),
    secure: isSecure(message, trusted),
    address: message.socket.remoteAddress ?? '',
    rate: undefined,
    cors: undefined,
    trace: { actor: null, agent_id: null },
  }
  promiseHttps(arrived, edge.gate())
  return arrived
}

/**
 * Takes a request through the steps that come before its body. The route says which steps those are. Throws or rejects
 * when the request is refused. Returns a promise only when it has to wait, because most requests do not.
 */
export function letIn(front: Front, request: FastifyRequest, config: FastifyContextConfig): void | Promise<void> {
  const arrived = arrive(front, request, config.route)
  request.arrived = arrived
  checkTransport(arrived)
  if (config.probe) return
  const entering = front.steps.enter(arrived)
  if (config.open) return entering
  return withValue(entering, () => admit(front, request, arrived))
}

function admit({ steps, requireRoute }: Front, request: FastifyRequest, arrived: Arrived): void | Promise<void> {
  // A preflight carries no key. A preflight that is not granted needs a key, like every other request.
  if (isPreflight(arrived)) return checkBodyHeaders(arrived)
  return withValue(steps.authenticate(arrived), (known) =>
    withValue(steps.count(known), () =>
      withValue(steps.authorise(known, requireRoute(arrived), arrived.params), (admitted) => {
        request.admitted = admitted
        checkBodyHeaders(arrived)
      }),
    ),
  )
}
