import { type OpenApi, operationsOf } from './openapi-document.ts'

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
