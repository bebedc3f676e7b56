import type { FastifyContextConfig, FastifyInstance, FastifyReply } from 'fastify'
import type { Operation } from '../../operation.ts'
import { openApiDocument } from '../reference/openapi.ts'
import type { OpenApi } from '../reference/openapi-document.ts'
import { referencePages } from '../reference/reference.ts'

/** The paths that answer GET and HEAD without a key. */
export const OPEN_PATHS = [
  '/',
  '/healthz',
  '/readyz',
  '/v1/openapi.json',
  '/docs',
  '/docs/reference.css',
  '/docs/reference.js',
  '/llms.txt',
]

const SLICE = 65_536

/** The body is made once and shared by all replies. */
type ServedPage = { status: number; headers: Record<string, string>; body: Buffer }

/** Shown to people who open the service's address in a browser. */
const WELCOME: ServedPage = {
  status: 302,
  headers: { Location: '/docs', 'Content-Type': 'text/plain; charset=utf-8' },
  body: Buffer.from('The API reference is at /docs\n'),
}

/**
 * Adds the routes that need no key: the health checks, which answer everybody, and the documents of the API, which
 * answer clients that pass the service's gate. `unready` says why requests cannot be served at the moment, or
 * undefined.
 */
export function addOpenRoutes(
  app: FastifyInstance,
  operations: readonly Operation[],
  unready: () => Promise<string | undefined>,
): void {
  const add = (url: string, config: FastifyContextConfig, answer: () => ServedPage | Promise<ServedPage>) => {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      config,
      handler: async (request, reply) => sendPage(reply, request.arrived.headers, await answer()),
    })
  }
  const addDocument = (url: string, headers: Record<string, string>, body: () => string) => {
    // The page is made at the first request for it, so that the service starts quickly.
    let made: ServedPage | undefined
    add(url, { open: true }, () => (made ??= { status: 200, headers, body: Buffer.from(body()) }))
  }

  // The liveness check does not touch the database: to restart this process would not repair a database that is gone.
  add('/healthz', { probe: true }, () => json(200, { status: 'ok' }))
  add('/readyz', { probe: true }, async () => {
    const reason = await unready()
    return reason === undefined ? json(200, { status: 'ready' }) : json(503, { status: 'not_ready', reason })
  })

  let described: OpenApi | undefined
  const document = () => (described ??= openApiDocument(operations))
  add('/', { open: true }, () => WELCOME)
  addDocument('/v1/openapi.json', {}, () => JSON.stringify(document()))
  for (const { path, headers, body } of referencePages(document)) addDocument(path, headers, body)
}

function json(status: number, body: Record<string, string>): ServedPage {
  return { status, headers: {}, body: Buffer.from(JSON.stringify(body)) }
}

/** Sends the body slice by slice as the client reads it. A client that does not read holds one slice in memory. */
function sendPage(reply: FastifyReply, standard: Record<string, string>, { status, headers, body }: ServedPage): void {
  const { raw } = reply.hijack()
  raw.writeHead(status, { ...standard, ...headers, 'Content-Length': body.length })
  let sent = 0
  const sendMore = () => {
    while (sent < body.length) {
      const hasRoom = raw.write(body.subarray(sent, sent + SLICE))
      sent += SLICE
      if (!hasRoom) return
    }
    raw.end()
  }
  raw.on('drain', sendMore)
  sendMore()
}
