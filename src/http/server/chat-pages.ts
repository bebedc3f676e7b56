import { ApiError, forbidden } from '../../errors.ts'
import { getLink, greetVisitor, mayCall, type OpenLink } from '../pipeline/guards/visitor.ts'
import type { ArrivedRequest } from '../pipeline/request.ts'
import { html } from '../reference/html.ts'
import { ConsoleFiles } from './console/console-files.ts'
import type { Endpoint } from './endpoint.ts'
import type { Front } from './front.ts'
import { send } from './replies/send.ts'
import { type ServedPage, sendPage } from './replies/send-page.ts'
import type { Router } from './router.ts'

const PREFLIGHT = {
  'Access-Control-Allow-Methods': 'GET, POST, PUT',
  'Access-Control-Allow-Headers': 'Accept, Content-Type, Idempotency-Key, Last-Event-ID, X-Moorage-Chat',
  'Access-Control-Max-Age': '600',
}

/**
 * Only our own script runs, and the page loads and sends nothing elsewhere. Only the link's origins can show it in a
 * frame.
 */
const policyFor = (origins: Iterable<string>) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${[...origins].join(' ') || "'none'"}`,
  ].join('; ')

const ENDED = 'This chat has ended.'
const UNKNOWN = "This chat doesn't exist, or it has ended."

/**
 * Adds the chat's page and its files, the script that other sites embed, and the replies to preflight requests for the
 * chat's API.
 */
export function addChatPages(endpoints: Router<Endpoint>, { steps, edge, routes }: Front): void {
  const { links, pagesFolder } = edge
  const needs = { links, failures: steps.failures }
  const files = new ConsoleFiles(pagesFolder)

  const page: Endpoint['page'] = async (arrived, response) => {
    const link = await getLink(arrived, needs).catch((error: unknown) => error)
    if (!(link instanceof ApiError)) return sendPage(response, arrived.headers, await pageOf(link as OpenLink, arrived))
    if (link.code !== 'not_found') throw link
    const hasExpired = await links.hasExpired(arrived.params['token'] ?? '')
    sendPage(response, arrived.headers, plain(404, hasExpired ? ENDED : UNKNOWN))
  }
  const pageOf = async (link: OpenLink, arrived: ArrivedRequest): Promise<ServedPage> => {
    // The page's files and requests are relative to it, so with a slash at the end they would not be found.
    if (/^[^?]*\/(?:\?|$)/.test(arrived.message.url ?? '')) return withoutSlash(arrived.params['token'] ?? '')
    const template = await files.template('chat.html')
    if (template === undefined) return plain(503, 'The page of the chat is not built yet: npm run build')
    greetVisitor(arrived)
    const shown = await links.show(link)
    const body = template
      .replace('<title>Chat</title>', () => html`<title>${shown.title}</title>`.text)
      .replace('id="shown">{}', () => `id="shown">${JSON.stringify(shown).replaceAll('<', '\\u003c')}`)
    const headers = { ...pageHeaders(link.origins), 'Content-Type': 'text/html; charset=utf-8' }
    return { status: 200, headers, body: Buffer.from(body) }
  }
  const preflight: Endpoint['page'] = async (arrived, response) => {
    if (!mayCall(arrived, await getLink(arrived, needs))) throw forbidden('This origin is not listed by the link.')
    send(response, arrived.headers, { status: 200, headers: PREFLIGHT, body: '{"success":true,"data":{}}' })
  }
  const serve = (find: (accepted: string, file: string) => Promise<ServedPage | undefined>): Endpoint => ({
    open: true,
    async page({ headers, message, params }, response) {
      const found = await find(String(message.headers['accept-encoding'] ?? ''), params['file'] ?? '')
      if (!found) throw new ApiError('not_found', 'File not found.')
      sendPage(response, headers, found)
    },
  })

  endpoints.add('GET', '/chat/{token}', { open: true, page })
  endpoints.add(
    'GET',
    '/chat/widget.js',
    serve((accepted) => files.widget(accepted)),
  )
  endpoints.add(
    'GET',
    '/chat/assets/{file}',
    serve((accepted, file) => files.asset(file, accepted)),
  )
  const paths = new Set(routes.flatMap(({ isForVisitors, path }) => (isForVisitors ? path : [])))
  for (const path of paths) endpoints.add('OPTIONS', path, { open: true, page: preflight })
}

function pageHeaders(origins: Iterable<string>): Record<string, string> {
  return {
    'Content-Security-Policy': policyFor(origins),
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
  }
}

/** The target is relative, because a proxy may have removed a prefix. */
function withoutSlash(token: string): ServedPage {
  const headers = { ...pageHeaders([]), Location: `../${token}` }
  return { status: 308, headers, body: Buffer.alloc(0) }
}

/** A page of one sentence, for people. */
function plain(status: number, text: string): ServedPage {
  const headers = { ...pageHeaders([]), 'Content-Type': 'text/plain; charset=utf-8' }
  return { status, headers, body: Buffer.from(`${text}\n`) }
}
