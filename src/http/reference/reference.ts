import { readFileSync } from 'node:fs'
import { type OpenApi, operationsOf } from './openapi-document.ts'
import { referencePage } from './reference-page.ts'

/** A page that anyone can read. */
export type OpenPage = { path: string; headers: Record<string, string>; body: () => string | Promise<string> }

/** Everything comes from this service, so the browser must not load anything from elsewhere. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const asset = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')

/** The API reference and its files. The document is made when a page that shows it is first requested. */
export function referencePages(document: () => Promise<OpenApi>, has: { hasConsole: boolean }): OpenPage[] {
  return [
    {
      path: '/docs',
      headers: {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': CONTENT_SECURITY_POLICY,
        'Referrer-Policy': 'no-referrer',
      },
      body: async () => referencePage(await document(), has),
    },
    {
      path: '/docs/reference.css',
      headers: { 'Content-Type': 'text/css; charset=utf-8' },
      body: () => asset('./reference.css'),
    },
    {
      path: '/docs/reference.js',
      headers: { 'Content-Type': 'text/javascript; charset=utf-8' },
      body: () => asset('./reference-in-browser.js'),
    },
    {
      path: '/docs/send.js',
      headers: { 'Content-Type': 'text/javascript; charset=utf-8' },
      body: () => asset('./send-in-browser.js'),
    },
    {
      path: '/llms.txt',
      headers: { 'Content-Type': 'text/plain; charset=utf-8' },
      body: async () => llmsText(await document()),
    },
  ]
}

/** The API as one page of plain text, for language models: https://llmstxt.org */
export function llmsText(document: OpenApi): string {
  const operations = operationsOf(document)
  const groups = document.tags.map(({ name }) => {
    const lines = operations
      .filter(({ tags }) => tags.includes(name))
      .map(({ operationId, method, path, summary, description, ...rest }) => {
        const own = rest['x-own-permission'] ? `, or ${rest['x-own-permission']} for what the key itself started` : ''
        const permission = rest['x-permission'] ? ` Permission: ${rest['x-permission']}${own}.` : ''
        const going = rest.deprecated ? ` Deprecated; it's removed on ${rest['x-sunset']}.` : ''
        return `- [${method} ${path}](/docs#${operationId}): ${summary}.${going}${description ? ` ${description}` : ''}${permission}`
      })
    return `## ${name}\n\n${lines.join('\n')}`
  })
  return `# ${document.info.title}

> ${document.info.summary}. Self-hosted; REST, JSON over HTTP. All paths are relative to this service.

- Authentication: \`Authorization: Bearer <key>\`, with a key or token. Never put it in the URL.
- A single object is \`{"success": true, "data": {}}\`; a list is \`{"data": [], "pagination": {"limit", "offset", "total", "has_more"}}\`.
- Errors are \`{"success": false, "error": {"code", "message", "details", "retry_after"}, "request_id"}\`; retry_after is in seconds.
- POST and PATCH accept \`Idempotency-Key\`: within 24 hours, the same request runs only once.
- \`{agent_id}\` is an agent's ID or name. Times are RFC 3339. Unknown fields and parameters are refused.

${groups.join('\n\n')}

## Documents

- [OpenAPI 3.1](/v1/openapi.json): every field, parameter and error
- [Reference](/docs): the same as a web page, with curl samples
`
}
