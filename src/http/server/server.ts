import type { Server as HttpServer } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyContextConfig,
  type FastifyError,
  type FastifyHttpOptions,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { z } from 'zod'
import { ApiError, type ErrorCode } from '../../errors.ts'
import { type Delivery, type Mode, PLAIN_REPLY } from '../../operation/delivery.ts'
import { ipList } from '../../security/ip-list.ts'
import { renderError, send, sendRaw, standardHeaders, toApiError } from '../dialects/respond.ts'
import { eventStream } from '../dialects/stream.ts'
import type { Exchange, Route } from '../pipeline/exchange.ts'
import { isReplay } from '../pipeline/idempotency.ts'
import { promiseHttps } from '../pipeline/pass-gate.ts'
import { type Edge, pipeline } from '../pipeline/pipeline.ts'
import { reportRefusal } from '../pipeline/report-refusal.ts'
import { answerBrokenRequest, HEADER_BYTES, refuseConnect } from './broken-request.ts'
import { isSecure } from './client.ts'
import { addOpenRoutes } from './open-routes.ts'
import { queryReader } from './query.ts'
import { reloadTls, tlsOptions } from './tls.ts'
import { checkBodyHeaders, checkTransport } from './transport.ts'

export type Server = {
  listen(options: { host: string; port: number }): Promise<string>
  /** From now on not ready; what runs may finish, then the sockets close. */
  close(drainTimeoutMs: number): Promise<void>
}

const IDLE_SWEEP_MS = 20

/** Tells why the store cannot be used at the moment, if so. */
type Health = { problem(): Promise<string | undefined> }

export function createServer(edge: Edge, store: Health): Server {
  const { config, log, newId, now, audit } = edge.parts
  const { tls } = config.server
  const { enter, admit, run } = pipeline(edge)
  const trusted = ipList(config.server.trustedProxies)
  /** Else only what failed is logged: to hear of every reply's end has its price. */
  const logsAll = log.isLevelEnabled('info')
  let draining = false

  const http = {
    maxHeaderSize: HEADER_BYTES,
    connectionsCheckingInterval: 1_000,
    headersTimeout: config.server.requestTimeout,
    // Node would answer in its own words; checkTransport does it in ours.
    requireHostHeader: false,
  }
  const options: FastifyHttpOptions<HttpServer> = {
    logger: false,
    bodyLimit: config.limits.body,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: config.server.requestTimeout,
    routerOptions: { maxParamLength: HEADER_BYTES, querystringParser: () => ({}) },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, newId('req', now())),
    frameworkErrors: (error, request, reply) => fail(error, request as FastifyRequest, reply as FastifyReply),
  }
  // Fastify types an HTTPS server apart; everything here works on either.
  const app = Fastify(
    (tls ? { ...options, https: { ...http, ...tlsOptions(tls) } } : { ...options, http }) as typeof options,
  )
  const stopReloading = tls ? reloadTls(app.server as HttpServer & HttpsServer, tls, log) : () => {}
  app.server.maxHeadersCount = 0
  app.server.on('connect', (_request, socket: Socket) => refuseConnect(socket, newId('req', now())))
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

  // Bodies arrive as bytes; the pipeline parses them, strictly.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.decorateRequest('exchange')

  const open = (request: FastifyRequest, { route }: FastifyContextConfig): Exchange => {
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
    }
    promiseHttps(exchange, edge.gate())
    return exchange
  }

  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    request.exchange ??= open(request, request.routeOptions.config)
    const { request_id, headers } = request.exchange
    const apiError = toApiError(fromFastify(error, request), log, request_id)
    reportRefusal(audit, request.exchange, apiError)
    if (!logsAll && apiError.status >= 500) logRequest(request, apiError.status)
    const rendered = renderError(apiError, request_id)
    if (draining) reply.header('Connection', 'close')
    reply.headers(headers)
    send(reply, rendered)
  }
  app.setErrorHandler(fail)

  const letIn = (request: FastifyRequest): void | Promise<void> => {
    // Fastify makes these options anew each time they are read.
    const { config: routeConfig } = request.routeOptions
    request.exchange = open(request, routeConfig)
    checkTransport(request.exchange)
    if (routeConfig.probe) return
    const entering = enter(request.exchange)
    if (routeConfig.open) return entering
    const admitted = entering ? entering.then(() => admit(request.exchange)) : admit(request.exchange)
    if (admitted) return admitted.then(() => checkBodyHeaders(request.exchange))
    checkBodyHeaders(request.exchange)
  }
  // Fastify takes a promise, or else waits for `done`: most requests need not wait for anything.
  app.addHook('onRequest', (request, _reply, done) => {
    let pending: void | Promise<void>
    try {
      pending = letIn(request)
    } catch (error) {
      return done(error instanceof Error ? error : new Error('refused', { cause: error }))
    }
    if (pending) return pending
    done()
  })

  const logRequest = (request: FastifyRequest, status: number) =>
    log[status >= 500 ? 'error' : 'info'](summary(request, status), 'request')
  if (logsAll) {
    app.addHook('onResponse', (request, reply, done) => {
      logRequest(request, reply.statusCode)
      done()
    })
  }

  const deliverReply = async (exchange: Exchange, route: Route, reply: FastifyReply) => {
    const mode: Mode = route.operation.accepted && prefersAsync(exchange.request) ? 'background' : 'reply'
    const onHangUp = route.operation.streams && mode === 'reply' ? hangUpOf(reply) : undefined
    const body = exchange.request.body as Buffer | undefined
    const rendered = await run(exchange, route, body, { ...PLAIN_REPLY, mode, onHangUp })
    if (draining) exchange.headers['Connection'] = 'close'
    sendRaw(reply, exchange.headers, rendered)
  }

  const deliverStream = async (exchange: Exchange, route: Route, reply: FastifyReply) => {
    const { request, request_id, headers } = exchange
    const stream = eventStream(reply, headers)
    const last_event_id = request.headers['last-event-id'] as string | undefined
    const { open: openStream, send: emit } = stream
    const delivery: Delivery = { mode: 'stream', onHangUp: hangUpOf(reply), emit, openStream, last_event_id }
    try {
      const rendered = await run(exchange, route, request.body as Buffer | undefined, delivery)
      const { status, headers: sent, body } = rendered
      if (status === 202) {
        send(reply.headers(headers), rendered)
        return
      }
      // A repeated answer brings no events of its own.
      if (isReplay(sent)) {
        Object.assign(headers, sent)
        const { data } = JSON.parse(body) as { data: never }
        for (const event of route.operation.streams?.replay?.(data) ?? []) stream.send(event)
      }
      stream.send({ id: 'done', event: 'done', data: body })
    } catch (error) {
      if (!stream.opened) throw error
      const { body } = renderError(toApiError(error, log, request_id), request_id)
      stream.send({ id: 'done', event: 'error', data: body })
    }
    stream.end()
  }

  for (const operation of edge.operations) {
    const route: Route = { operation, readQuery: queryReader(operation.query ?? z.strictObject({})) }
    app.route({
      method: operation.method,
      url: operation.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { route },
      handler(request, reply) {
        const deliver = wantsStream(route, request) ? deliverStream : deliverReply
        deliver(request.exchange, route, reply).catch((error: unknown) => fail(error, request, reply))
      },
    })
  }
  // The steps before the body end every request to an unknown path or method.
  app.setNotFoundHandler(() => {
    throw new ApiError('not_found', 'No such path')
  })
  addOpenRoutes(app, edge.operations, async () => (draining ? 'the service is stopping' : store.problem()))

  return {
    listen: (address) => app.listen(address),
    async close(drainTimeoutMs) {
      draining = true
      stopReloading()
      const force = setTimeout(() => app.server.closeAllConnections(), drainTimeoutMs)
      // A connection falls idle when its last request ends; nobody but us would close it then.
      const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS)
      await app.close()
      clearInterval(sweep)
      clearTimeout(force)
    },
  }
}

/** A request as the service's own log shows it: the operation's path, never the query. */
function summary({ method, exchange }: FastifyRequest, status: number) {
  const { request_id, route, path, started, actor, agent } = exchange
  return {
    request_id,
    method,
    path: route?.operation.path ?? path.slice(0, 200),
    status,
    ms: Math.round((performance.now() - started) * 10) / 10,
    actor: actor?.id,
    agent: agent?.id,
  }
}

function wantsStream({ operation: { streams } }: Route, { headers }: FastifyRequest): boolean {
  return streams !== undefined && (streams.always || /\btext\/event-stream\b/i.test(headers.accept ?? ''))
}

/** RFC 7240. */
function prefersAsync({ headers }: FastifyRequest): boolean {
  return /(?:^|,)\s*respond-async\s*(?:$|[,;])/i.test(String(headers.prefer ?? ''))
}

function hangUpOf({ raw }: FastifyReply): Delivery['onHangUp'] {
  return (listener) => {
    if (raw.destroyed) listener()
    else raw.once('close', () => raw.writableFinished || listener())
  }
}

const FASTIFY_ERRORS: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large', 'The body is too large'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported_media_type', 'Send the body as application/json'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid_request', 'The body does not match its Content-Length'],
  FST_ERR_BAD_URL: ['invalid_request', 'The request target is not a valid path'],
  FST_ERR_CTP_EMPTY_TYPE: ['unsupported_media_type', 'Send the body as application/json'],
}

function fromFastify(error: unknown, { raw }: FastifyRequest): unknown {
  // Nobody hears it; it must not be taken for a broken connection of ours.
  if (error === raw.errored) return new ApiError('request_timeout', 'The request was cut off')
  const known = FASTIFY_ERRORS[(error as FastifyError).code]
  return known ? new ApiError(...known) : error
}
