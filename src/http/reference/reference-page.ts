import { setImmediate as nextPass } from 'node:timers/promises'
import { fieldList, parameterList } from './fields.ts'
import { type Html, html, prose } from './html.ts'
import { type OpenApi, operationsOf, type PlacedOperation, type ShownSchema } from './openapi-document.ts'
import { curl, sampleReply, sampleRequest } from './samples.ts'

/**
 * The API reference as one page. It can be read without scripts, which add search, copying, the theme switch and, for
 * people who are signed in, sending requests. Its URLs are relative, because a proxy may have added a prefix. Other
 * requests are served while its articles are made.
 */
export async function referencePage(document: OpenApi, { hasConsole }: { hasConsole: boolean }): Promise<string> {
  const operations = operationsOf(document)
  const groups = document.tags.map(({ name }) => ({
    name,
    operations: operations.filter(({ tags }) => tags.includes(name)),
  }))
  const articles = new Map<PlacedOperation, Html>()
  for (const operation of operations) {
    articles.set(operation, operationArticle(operation, document))
    await nextPass()
  }
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${document.info.title} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/reference.css">
<script src="docs/reference.js" defer></script>
<script src="docs/send.js" type="module"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<aside>
  <header><a class="brand" href="#top">${document.info.title}</a>${hasConsole && html`<a class="back" href="./">← Console</a>`}<button type="button" id="theme" hidden aria-label="Light or dark">◐</button></header>
  <input type="search" id="search" placeholder="Search  ( / )" aria-label="Search operations" autocomplete="off" hidden>
  <details open><summary>Operations</summary>
  <nav aria-label="Operations">
    <a href="#top">Start here</a>
    ${groups.map(navigation)}
  </nav></details>
</aside>
<main id="content">
${introduction(document)}
${groups.map(
  (group) => html`<section class="group"><h2 id="${group.name}">${title(group.name)}</h2>
${group.operations.map((operation) => articles.get(operation))}</section>`,
)}
<p id="nothing" hidden>No operations match.</p>
</main>
</body>
</html>
`
  return page.text
}

function navigation({ name, operations }: { name: string; operations: PlacedOperation[] }): Html {
  return html`<section><h3>${title(name)}</h3>
    ${operations.map(
      ({ operationId, method, path, summary }) =>
        html`<a href="#${operationId}" data-find="${`${operationId} ${method} ${path} ${summary}`.toLowerCase()}"><span>${summary}</span><b class="method ${method}">${method}</b></a>`,
    )}</section>`
}

function introduction({ info }: OpenApi): Html {
  return html`<section class="introduction" id="top">
<h1>${info.title} API</h1>
<p class="lead">${info.summary}. <a href="v1/openapi.json">OpenAPI document</a> · <a href="llms.txt">llms.txt</a></p>
<div class="cards">
<div><h3>Authentication</h3><p>Every path under <code>/v1</code> requires <code>Authorization: Bearer &lt;key&gt;</code>. A key has some of the permissions <code>read</code>, <code>invoke</code>, <code>write</code> (which includes <code>invoke</code>), <code>delete</code>, <code>manage</code>, and can be limited to one agent.</p></div>
<div><h3>Replies</h3><p>A single object: <code>{"success": true, "data": {…}}</code>. A list: <code>{"data": […], "pagination": {…}}</code>, with <code>limit</code>, <code>offset</code> and <code>sort</code>. Every reply has the header <code>X-Request-Id</code>.</p></div>
<div><h3>Errors</h3><p><code>{"success": false, "error": {"code", "message"}, "request_id"}</code>. <code>details</code> lists each invalid field; <code>retry_after</code> is in seconds.</p></div>
<div><h3>Safe retries</h3><p>Send <code>Idempotency-Key</code> with POST and PATCH: within 24 hours, the same request runs only once and gets the same reply.</p></div>
</div>
<pre class="sample"><code>export MOORAGE_URL=<span data-origin>http://127.0.0.1:8787</span>
export MOORAGE_API_KEY=mrg_…</code></pre>
</section>`
}

function operationArticle(operation: PlacedOperation, document: OpenApi): Html {
  const { operationId, method, path, summary, description, parameters, requestBody, responses } = operation
  const [status, reply] = Object.entries(responses).find(([code]) => code.startsWith('2')) ?? ['200', undefined]
  const content = reply?.content ?? {}
  const replySchema = content['application/json'] ? dataOf(content['application/json'].schema) : lineOf(content)
  const body = requestBody?.content['application/json']?.schema
  const sent = sampleRequest(operation, document)
  return html`<article id="${operationId}" data-method="${method}" data-path="${sent.path}" data-body="${sent.body}">
<div class="words">
  <h3><a href="#${operationId}">${summary}</a></h3>
  <p class="route"><b class="method ${method}">${method}</b> <code>${path}</code></p>
  ${operation.deprecated && html`<p><b>Deprecated.</b> It's removed on ${operation['x-sunset']}.</p>`}
  ${description && html`<p>${prose(description)}</p>`}
  <p class="permission">${permissionText(operation)}</p>
  ${parameters.length > 0 && html`<h4>Parameters</h4>${parameterList(parameters, document)}`}
  ${body && html`<h4>Body${requestBody?.required ? '' : ' (optional)'}</h4>${fieldList(body, document)}`}
  ${requestBody && !body && html`<h4>Body</h4><p>The file itself, or a form with one file</p>`}
  <details class="reply"><summary>Reply ${status}</summary>${fieldList(replySchema, document)}</details>
  <p class="errors">${errorStatuses(operation)}</p>
</div>
<div class="samples">
  <pre class="sample" data-copy><code>${curl(operation, document)}</code></pre>
  <pre class="sample answer"><code>${JSON.stringify(sampleReply(operation, document), null, 2)}</code></pre>
</div>
</article>`
}

function permissionText({ 'x-permission': permission, 'x-own-permission': own }: PlacedOperation): Html {
  if (!permission) return html`Any valid key works`
  const needed = html`Requires the permission <code>${permission}</code>`
  return own ? html`${needed}, or <code>${own}</code> for what the key itself started` : needed
}

function errorStatuses({ responses }: PlacedOperation): Html {
  const errors = Object.entries(responses).filter(([status]) => !status.startsWith('2'))
  return html`${errors.map(([status, { description }]) => html`<span title="${description}">${status}</span>`)}`
}

/** The schema inside the envelope. */
function dataOf({ properties }: ShownSchema): ShownSchema {
  const data = properties?.data ?? {}
  return data.type === 'array' ? (data.items ?? {}) : data
}

/** The schema of one line in a JSON lines reply. */
function lineOf(content: Record<string, { schema: ShownSchema }>): ShownSchema {
  return content['application/x-ndjson']?.schema ?? {}
}

function title(tag: string): string {
  return tag.charAt(0).toUpperCase() + tag.slice(1).replaceAll('-', ' ')
}
