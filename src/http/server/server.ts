import type { Server as HttpServer } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import type { Edge } from '../pipeline/edge.ts'
import { preflightAnswer } from '../pipeline/guards/cors.ts'
import { answerRaw, connectRefusal, HEADER_BYTES, parserError } from './connections/broken-request.ts'
import { Connections } from './connections/connections.ts'
import { createHttpServer, listen } from './connections/http-server.ts'
import { reloadTls } from './connections/tls.ts'
import { together } from './connections/together.ts'
import { type Front, letIn, openFront } from './front.ts'
import { addOpenRoutes } from './open-routes.ts'
import { answerFailure } from './replies/answer-failure.ts'
import { answerRequest } from './replies/answer-request.ts'
import { sendRaw } from './replies/send.ts'

export type Server = {
  /** Resolves with the service's address. */
  listen(): Promise<string>
  /** From now on not ready, and each reply is the last on its connection; new connections are still served. */
  beginClosing(): void
  /** Takes no new connection; what runs may finish, then the connections close. */
  close(patience: { lingerMs: number; drainMs: number }): Promise<void>
}

/** Says why the store cannot be used at the moment, or undefined. */
type Health = { problem(): Promise<string | undefined> }

export function createServer(edge: Edge, store: Health): Server {
  const { config, log } = edge.parts
  const { tls, stallTimeout } = config.server
  const front = openFront(edge)
  const connections = new Connections((socket) => front.requests.flood(socket))
  const app = createRouter(front, connections)
  addRoutes(app, front)
  addPreflight(app, front)
  addOpenRoutes(app, edge.operations, async () =>
    connections.closing ? 'the service is stopping' : await store.problem(),
  )

  connections.watch(app.server, stallTimeout)
  app.server.on('connect', (_request, socket: Socket) => refuse(front, connections, socket, connectRefusal()))
  const stopReloading = tls ? reloadTls(app.server as HttpServer & HttpsServer, tls, log) : () => {}
  return {
    async listen() {
      await app.ready()
      return listen(app.server, config.server)
    },
    beginClosing: () => connections.beginClosing(),
    async close(patience) {
      stopReloading()
      await connections.close(app.server, patience)
      await app.close()
    },
  }
}

/** Fastify finds the route and reads the body. We do everything else. */
function createRouter(front: Front, connections: Connections): FastifyInstance {
  const { config } = front.edge.parts
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    answerFailure(front, error, request, reply)
  const app = Fastify({
    logger: false,
    bodyLimit: config.limits.body,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: HEADER_BYTES, querystringParser: () => ({}) },
    serverFactory: (handle) => createHttpServer(config.server, connections.oneAtATime(together(handle))),
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET') socket.destroy()
      else refuse(front, connections, socket, parserError(error))
    },
    frameworkErrors: (error, request, reply) => fail(error, request as FastifyRequest, reply as FastifyReply),
  })
  // Bodies arrive as bytes; the pipeline parses them strictly.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.decorateRequest('arrived')
  app.decorateRequest('admitted')
  app.setErrorHandler(fail)
  // This is not reached: the steps before the body refuse every request to an unknown path or method.
  app.setNotFoundHandler(() => {
    throw new ApiError('not_found', 'No such path')
  })
  // Fastify waits for a promise if the hook returns one, and for `done` otherwise.
  app.addHook('onRequest', (request, _reply, done) => {
    let pending: void | Promise<void>
    try {
      // Fastify makes these options anew each time they are read.
      pending = letIn(front, request, request.routeOptions.config)
    } catch (error) {
      return done(error instanceof Error ? error : new Error('refused', { cause: error }))
    }
    if (pending) return pending
    done()
  })
  if (front.requests.all) {
    app.addHook('onResponse', (request, reply, done) => {
      front.requests.answered(request, reply.statusCode)
      done()
    })
  }
  return app
}

function addRoutes(app: FastifyInstance, front: Front): void {
  for (const route of front.routes) {
    app.route({
      method: route.method,
      url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
      config: { route },
      handler(request, reply) {
        answerRequest(front, request, reply).catch((error: unknown) => answerFailure(front, error, request, reply))
      },
    })
  }
}

/** Answers the preflight requests of browsers that were granted. The steps before have refused the others. */
function addPreflight(app: FastifyInstance, { routes }: Front): void {
  const answer = preflightAnswer(routes)
  app.options('*', ({ arrived }, reply) => sendRaw(reply, arrived.headers, answer(arrived)))
}

/** Answers requests that the router never sees, because Node could not read them or does not hand them on. */
function refuse({ edge, requests }: Front, connections: Connections, socket: Socket, error: ApiError): void {
  const { newId, now } = edge.parts
  connections.endWith(socket, () => {
    const request_id = newId('req', now())
    requests.unreadable(socket, request_id, error.status)
    answerRaw(socket, error, request_id)
  })
}
