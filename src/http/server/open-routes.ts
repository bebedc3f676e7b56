import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../../operation.ts'
import { send } from '../dialects/respond.ts'
import { openApiDocument } from '../reference/openapi.ts'
import { referencePages } from '../reference/reference.ts'

/** What answers without a key, to GET. */
export const OPEN_PATHS = [
  '/healthz',
  '/readyz',
  '/v1/openapi.json',
  '/docs',
  '/docs/reference.css',
  '/docs/reference.js',
  '/llms.txt',
]

/** What answers without a key: health, to whoever asks, and the documents of the API, to whom the service lets in. */
export function addOpenRoutes(
  app: FastifyInstance,
  operations: readonly Operation[],
  ready: () => Promise<boolean>,
): void {
  const config = { open: true }
  const probe = { config: { probe: true } }
  // Liveness does not touch the database: restarting this process would not mend one that is gone.
  app.get('/healthz', probe, (request, reply) => answer(request, reply, 200, '{"status":"ok"}'))
  app.get('/readyz', probe, async (request, reply) => {
    const isReady = await ready()
    return answer(request, reply, isReady ? 200 : 503, JSON.stringify({ status: isReady ? 'ready' : 'not_ready' }))
  })

  const document = openApiDocument(operations)
  const documentText = JSON.stringify(document)
  app.get('/v1/openapi.json', { config }, (request, reply) => answer(request, reply, 200, documentText))
  for (const { path, headers, body } of referencePages(document)) {
    // Made when somebody first asks for it: a start need not wait.
    let made: string | undefined
    app.get(path, { config }, (request, reply) => {
      made ??= body()
      return answer(request, reply, 200, made, headers)
    })
  }
}

function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  body: string,
  headers: Record<string, string> = {},
): FastifyReply {
  return send(reply.headers(request.exchange.headers), { status, headers, body })
}
