import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import { ApiError, unavailable } from '../../errors.ts'
import { within } from '../../lib/work/within.ts'
import { readBytes, UNREAD } from '../input/body.ts'
import type { Edge } from '../pipeline/edge.ts'
import { preflightAnswer } from '../pipeline/guards/cors.ts'
import { reportRefusal } from '../pipeline/report-refusal.ts'
import type { ArrivedRequest } from '../pipeline/request.ts'
import { toApiError } from '../pipeline/to-api-error.ts'
import { addChatPages } from './chat-pages.ts'
import { addConnectPages } from './connect/connect-pages.ts'
import { answerRaw, connectRefusal, parserError } from './connections/broken-request.ts'
import type { Connections } from './connections/connections.ts'
import { limitHandles } from './connections/handle-limit.ts'
import { reloadTls } from './connections/tls.ts'
import { addConsoleRoutes } from './console/console-routes.ts'
import type { EarlyServer } from './early-server.ts'
import type { Endpoint } from './endpoint.ts'
import { arrive, badTarget, type Front, letIn, lostId, openFront } from './front.ts'
import { addInlet } from './inlet-page.ts'
import { addAuthorizationServer } from './oauth/authorization-server.ts'
import { addOpenRoutes } from './open-routes.ts'
import { addProtectedResources, withChallenge } from './protected-resource.ts'
import { answerRequest, answerUpload } from './replies/answer-request.ts'
import { send, sendEarly } from './replies/send.ts'
import type { FoundPath, Router } from './router.ts'

/** How long a client may continue to send what is dropped. It may not even have a key. */
const DROPPED_FOR_MS = 2_000
/** The same for a client that is allowed to upload but whose file is too large. */
const FILE_DROPPED_FOR_MS = 30_000

/**
 * Methods whose path must not end with a slash. If an ID is empty, clients produce such a path, or turn
 * `/v1/agents/hello/memory/..` into `/v1/agents/hello/`. The request would then change or delete more than was meant.
 */
const NEVER_WITH_SLASH: ReadonlySet<string> = new Set(['DELETE', 'PATCH'])

export type Server = {
  /** Answers all further requests. Returns the service's URL. */
  open(): string
  /** Reports not ready from now on. Connections close after their next reply, but new connections are still served. */
  beginClosing(): void
  /** Accepts no new connections, lets running requests finish, then closes the connections. */
  close(patience: { lingerMs: number; drainMs: number }): Promise<void>
}

/** Returns why the store can't be used at the moment, or undefined. */
type Health = { problem(): Promise<string | undefined> }

/** `early` is already listening. */
export function createServer(edge: Edge, store: Health, early: EarlyServer): Server {
  const { config, log } = edge.parts
  const { tls } = config.server
  const front = openFront(edge)
  const { server, connections } = early
  connections.onFlood = (socket) => front.requests.flood(socket)
  const { endpoints } = front
  for (const route of front.routes) endpoints.add(route.method, route.path, { route })
  addOpenRoutes(endpoints, edge, async () => {
    const reason = connections.closing ? 'the service is stopping' : await store.problem()
    return reason === undefined ? undefined : { reason }
  })
  addProtectedResources(endpoints, front)
  addInlet(endpoints, front)
  addChatPages(endpoints, front)
  addConnectPages(endpoints, front)
  addAuthorizationServer(endpoints, front)
  if (edge.console) addConsoleRoutes(endpoints, front, edge.console)
  const handle = requestHandler(front, endpoints)

  limitHandles(server, connections, edge.parts)
  server.on('connect', (_request, socket: Socket) => refuse(front, connections, socket, connectRefusal()))
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET') socket.destroy()
    else refuse(front, connections, socket, parserError(error))
  })
  const stopReloading = tls ? reloadTls(server as HttpServer & HttpsServer, tls, log) : () => {}
  return {
    open: () => early.handOver(connections.oneAtATime(handle)),
    beginClosing: () => connections.beginClosing(),
    async close(patience) {
      stopReloading()
      await connections.close(server, patience)
    },
  }
}

/** Handles a request from its first line to its reply. */
function requestHandler(front: Front, endpoints: Router<Endpoint>) {
  const { config } = front.edge.parts
  // On an unknown path or method, the steps before the body refuse the request.
  const nowhere: Endpoint = {}
  // Browsers may send a preflight for any path. The same steps refuse a preflight that isn't granted.
  const answerPreflight = preflightAnswer(front.routes)
  const preflight: Endpoint = {
    page: async (arrived, response) => send(response, arrived.headers, answerPreflight(arrived)),
  }

  const answer = async (arrived: ArrivedRequest, endpoint: Endpoint, response: ServerResponse): Promise<void> => {
    const entered = letIn(front, arrived, endpoint)
    const limit = endpoint.route?.operation.access.knownWithinMs
    const authorised = await (limit === undefined ? entered : within(limit, entered, noAnswer))
    // The rest of a body that isn't read may still arrive, and must not be taken for another request.
    if (!arrived.message.complete && UNREAD.has(arrived.message.method ?? '')) response.shouldKeepAlive = false
    if (!authorised) return endpoint.page?.(arrived, response)
    if (authorised.operation.input?.upload) return answerUpload(front, authorised, response)
    const bytes = await (arrived.bytes ?? readBytes(arrived.message, config))
    await answerRequest(front, authorised, bytes, response)
  }

  return (message: IncomingMessage, response: ServerResponse): void => {
    const { method = '', url = '/' } = message
    const mark = url.indexOf('?')
    const words = mark < 0 ? url : url.slice(0, mark)
    const query = mark < 0 ? '' : url.slice(mark + 1)
    // A slash at the end of a path has no meaning (but see `NEVER_WITH_SLASH`), so all later steps see the path without
    // it.
    const path = words.length > 1 && words.endsWith('/') ? words.slice(0, -1) : words
    let found: FoundPath<Endpoint> | undefined
    let malformed: unknown
    try {
      if (words !== path && NEVER_WITH_SLASH.has(method)) throw lostId()
      found = endpoints.find(method, path)
    } catch (error) {
      malformed = error
    }
    // On a console path, a client that forgot `/v1` gets an error that says so, and a browser gets the page.
    const isForOthers = found?.value.forBrowsers && !message.headers.accept?.includes('text/html')
    const endpoint = (isForOthers ? undefined : found?.value) ?? (method === 'OPTIONS' ? preflight : nowhere)
    const arrived = arrive(front, message, { path, query }, { route: endpoint.route, params: found?.params ?? {} })
    if (front.requests.all) response.on('finish', () => front.requests.answered(arrived, response.statusCode))
    const fail = (error: unknown) => answerFailure(front, error, arrived, response)
    if (malformed) return fail(malformed instanceof URIError ? badTarget() : malformed)
    answer(arrived, endpoint, response).catch(fail)
  }
}

function noAnswer(): ApiError {
  return unavailable("The database isn't responding. Try again shortly.")
}

/** Answers requests that the router never sees, because Node couldn't parse them or doesn't pass them on. */
function refuse({ edge, requests }: Front, connections: Connections, socket: Socket, error: ApiError): void {
  const { newId, now } = edge.parts
  connections.endWith(socket, () => {
    const request_id = newId('req', now())
    requests.unreadable(socket, request_id, error.status)
    answerRaw(socket, error, request_id)
  })
}

/** Answers every request that fails, no matter where it failed. */
function answerFailure(front: Front, error: unknown, arrived: ArrivedRequest, response: ServerResponse): void {
  const { audit, config, log } = front.edge.parts
  const { request_id, headers, dialect, message } = arrived
  // The client has disconnected, so the service didn't fail and nothing is logged as a failure.
  const isCutOff = error === message.errored
  const apiError = isCutOff
    ? new ApiError('request_timeout', 'The request ended before its body was complete.')
    : toApiError(error, log, request_id)
  reportRefusal(audit, arrived, apiError)
  front.requests.count(arrived, apiError.status)
  if (!front.requests.all && apiError.status >= 500) front.requests.answered(arrived, apiError.status)
  if (response.headersSent) return void response.destroy()
  // Anything else that arrives on this connection belongs to this body, so no other request can be read from it.
  if (!message.complete) headers['Connection'] = 'close'
  const refusal = dialect.error(apiError, request_id)
  const answer = apiError.code === 'unauthorized' ? withChallenge(refusal, arrived, config) : refusal
  if (message.complete || message.destroyed || UNREAD.has(message.method ?? '')) return send(response, headers, answer)
  const isLargeFile = arrived.route?.operation.input?.upload === true && apiError.code === 'payload_too_large'
  sendEarly(response, headers, answer, isLargeFile ? FILE_DROPPED_FOR_MS : DROPPED_FOR_MS)
}
