import type { FastifyContextConfig, FastifyInstance, FastifyReply } from 'fastify'
import type { Operation } from '../../operation.ts'
import { openApiDocument } from '../reference/openapi.ts'
import { referencePages } from '../reference/reference.ts'

/** What answers without a key, to GET and HEAD. */
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

/** The bytes are made once and shared by all replies. */
type OpenPage = { status: number; headers: Record<string, string>; body: Buffer }

/** Leads people who open the service's address in a browser. */
const WELCOME: OpenPage = {
  status: 302,
  headers: { Location: '/docs', 'Content-Type': 'text/plain; charset=utf-8' },
  body: Buffer.from('The API reference is at /docs\n'),
}

/**
 * What answers without a key: health, to everybody who asks, and the documents of the API, to those whom the service
 * lets in. `unready` tells why requests cannot be served at the moment, if so.
 */
export function addOpenRoutes(
  app: FastifyInstance,
  operations: readonly Operation[],
  unready: () => Promise<string | undefined>,
): void {
  const add = (url: string, config: FastifyContextConfig, answer: () => OpenPage | Promise<OpenPage>) => {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      config,
      handler: async (request, reply) => sendPage(reply, request.arrived.headers, await answer()),
    })
  }
  const addDocument = (url: string, headers: Record<string, string>, body: () => string) => {
    // Made when somebody first asks for it: a start need not wait.
    let made: OpenPage | undefined
    add(url, { open: true }, () => (made ??= { status: 200, headers, body: Buffer.from(body()) }))
  }

  // Liveness does not touch the database: restarting this process would not mend one that is gone.
  add('/healthz', { probe: true }, () => json(200, { status: 'ok' }))
  add('/readyz', { probe: true }, async () => {
    const reason = await unready()
    return reason === undefined ? json(200, { status: 'ready' }) : json(503, { status: 'not_ready', reason })
  })

  const document = openApiDocument(operations)
  add('/', { open: true }, () => WELCOME)
  addDocument('/v1/openapi.json', {}, () => JSON.stringify(document))
  for (const { path, headers, body } of referencePages(document)) addDocument(path, headers, body)
}

function json(status: number, body: Record<string, string>): OpenPage {
  return { status, headers: {}, body: Buffer.from(JSON.stringify(body)) }
}

/** Slice by slice, as the client reads: one that does not read holds no more than a slice of what it asked for. */
function sendPage(reply: FastifyReply, standard: Record<string, string>, { status, headers, body }: OpenPage): void {
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
