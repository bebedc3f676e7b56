import type { Edge } from '../pipeline/edge.ts'
import { openApiDocument } from '../reference/openapi.ts'
import type { OpenApi } from '../reference/openapi-document.ts'
import { referencePages } from '../reference/reference.ts'
import type { Endpoint } from './endpoint.ts'
import { probePages, type Unready } from './probe-pages.ts'
import { type ServedPage, sendPage } from './replies/send-page.ts'
import type { Router } from './router.ts'

/** Shown to people who open the service's URL in a browser when there is no console. */
const WELCOME: ServedPage = {
  status: 302,
  headers: { Location: '/docs', 'Content-Type': 'text/plain; charset=utf-8' },
  body: Buffer.from('The API reference is at /docs\n'),
}

/**
 * Adds the routes that need no key: the health checks, which answer everyone, and the API's documents, which answer
 * clients that pass the service's gate.
 */
export function addOpenRoutes(
  endpoints: Router<Endpoint>,
  { operations, parts, console: hasConsole }: Pick<Edge, 'operations' | 'parts' | 'console'>,
  unready: () => Promise<Unready | undefined>,
): void {
  const add = (path: string, who: Endpoint, answer: () => Promise<ServedPage>) => {
    const page: Endpoint['page'] = async ({ headers }, response) => sendPage(response, headers, await answer())
    endpoints.add('GET', path, { ...who, page })
  }
  const addDocument = (path: string, headers: Record<string, string>, body: () => string | Promise<string>) => {
    // The page is made when it is first requested, so the service starts quickly.
    let made: Promise<ServedPage> | undefined
    const make = async () => ({ status: 200, headers, body: Buffer.from(await body()) })
    add(path, { open: true }, () => (made ??= make()))
  }

  for (const [path, answer] of Object.entries(probePages(unready))) add(path, { probe: true }, answer)
  endpoints.add('GET', '/health', { probe: true, page: leadToHealthz })

  let described: Promise<OpenApi> | undefined
  const document = () => (described ??= openApiDocument(operations, parts.config.server.publicUrl))
  if (!hasConsole) add('/', { open: true }, async () => WELCOME)
  addDocument('/v1/openapi.json', {}, async () => JSON.stringify(await document()))
  for (const { path, headers, body } of referencePages(document, { hasConsole: hasConsole !== undefined }))
    addDocument(path, headers, body)
}

/**
 * Redirects to `/healthz`. The target is relative, because a proxy may have removed a prefix, and so depends on the
 * path that the client requested.
 */
const leadToHealthz: NonNullable<Endpoint['page']> = async ({ headers, message }, response) => {
  const [path = ''] = (message.url ?? '').split('?')
  const Location = path.endsWith('/') ? '../healthz' : 'healthz'
  return sendPage(response, headers, { status: 308, headers: { Location }, body: Buffer.alloc(0) })
}
