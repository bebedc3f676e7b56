import type { FastifyContextConfig, FastifyRequest } from 'fastify'
import { type IpList, ipList } from '../../security/ip-list.ts'
import { standardHeaders } from '../dialects/respond.ts'
import { isPreflight } from '../pipeline/cors.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import { promiseHttps } from '../pipeline/pass-gate.ts'
import { type Edge, type Pipeline, pipeline } from '../pipeline/pipeline.ts'
import { isSecure } from './client.ts'
import { RequestLog } from './request-log.ts'
import { checkBodyHeaders, checkTransport } from './transport.ts'

/** What the server holds for every request. */
export type Front = { edge: Edge; steps: Pipeline; trusted: IpList; requests: RequestLog }

export function openFront(edge: Edge): Front {
  const { config, log } = edge.parts
  return {
    edge,
    steps: pipeline(edge),
    trusted: ipList(config.server.trustedProxies),
    requests: new RequestLog(log),
  }
}

/** A request before anything is known of it. */
export function openExchange({ edge, trusted }: Front, request: FastifyRequest, route: Exchange['route']): Exchange {
  const { newId, now } = edge.parts
  const target = request.raw.url ?? '/'
  const mark = target.indexOf('?')
  const request_id = newId('req', now())
  const exchange: Exchange = {
    request,
    request_id,
    started: performance.now(),
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? '' : target.slice(mark + 1),
    route,
    headers: standardHeaders(request_id),
    secure: isSecure(request, trusted),
    address: request.socket.remoteAddress ?? '',
    actor: undefined,
    rate: undefined,
    agent: undefined,
    cors: undefined,
  }
  promiseHttps(exchange, edge.gate())
  return exchange
}

/**
 * Takes a request through the steps before its body: which ones, the route says. Throws, or rejects, where it is
 * refused. Returns a promise only when somebody must be asked, because most requests need not wait for anything.
 */
export function letIn(front: Front, request: FastifyRequest, route: FastifyContextConfig): void | Promise<void> {
  const exchange = openExchange(front, request, route.route)
  request.exchange = exchange
  checkTransport(exchange)
  if (route.probe) return
  const entering = front.steps.enter(exchange)
  if (route.open) return entering
  const admitting = entering ? entering.then(() => admit(front, exchange)) : admit(front, exchange)
  if (admitting) return admitting.then(() => checkBodyHeaders(exchange))
  checkBodyHeaders(exchange)
}

/** A preflight carries no key. One that is not granted needs a key, as every other request does. */
function admit({ steps }: Front, exchange: Exchange): void | Promise<void> {
  if (!isPreflight(exchange)) return steps.admit(exchange)
}
