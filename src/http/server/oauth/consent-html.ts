import { createHash } from 'node:crypto'
import { isLoopback } from '../../../lib/loopback.ts'
import { type Html, html } from '../../reference/html.ts'
import type { ServedPage } from '../replies/send-page.ts'
import type { AuthorizationRequest } from './authorization-request.ts'

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:28rem;margin:10vh auto;padding:0 1rem;color:#1c2733;background:#fff}h1{font-size:1.4rem;overflow-wrap:anywhere}p,li,dd{overflow-wrap:anywhere}form{margin:1rem 0}label{display:block;margin:1rem 0 .25rem}input,select,button,.button{font:inherit;padding:.5rem .75rem;border:1px solid #77838f;border-radius:.4rem;box-sizing:border-box;color:inherit;background:transparent}input,select{width:100%}.button{display:block;text-align:center;text-decoration:none;margin:.5rem 0}button{margin:1rem .5rem 0 0;cursor:pointer}.main{background:#0b5fae;border-color:#0b5fae;color:#fff}.error{border-left:4px solid #c4314b;padding-left:.75rem}.note{color:#5b6875;font-size:.9rem}@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#10161d}.note{color:#9aa7b4}}'
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/**
 * No script, nothing from elsewhere, and no page may show this one in a frame. Browsers apply `form-action` to the
 * redirect after a form too, so the client's origin is listed where the form may lead there.
 */
function policyOf(formTargets: string): string {
  return `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${formTargets}; frame-ancestors 'none'; base-uri 'none'`
}

type ConsentPageOptions = { status?: number; formTargets?: string; reload?: boolean }

function pageOf(
  title: string,
  content: Html,
  { status = 200, formTargets = "'self'", reload }: ConsentPageOptions = {},
): ServedPage {
  const refresh = reload ? html`<meta http-equiv="refresh" content="0">` : html``
  const style = html`<style>`.text + STYLE + html`</style>`.text
  const head = html`<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>${refresh}`
  const body = html`</head><body><main><h1>${title}</h1>${content}</main></body></html>`
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policyOf(formTargets),
    // With `no-referrer`, browsers send no origin with a form, and the origin shows that the form is ours.
    'Referrer-Policy': 'same-origin',
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
  return { status, headers, body: Buffer.from(head.text + style + body.text) }
}

/** Says what is wrong, and what the person can do. */
export function messagePage(status: number, title: string, text: string): ServedPage {
  return pageOf(title, html`<p>${text}</p>`, { status })
}

/**
 * Loads itself again. A browser that comes from another site doesn't send the cookie of a session; from our own page it
 * does.
 */
export function reloadPage(again: string): ServedPage {
  return pageOf('Sign in', html`<p><a class="button main" href="${again}">Continue</a></p>`, { reload: true })
}

type SignInChoices = {
  request: string
  asked: AuthorizationRequest
  issuers: readonly { name: string; label: string }[]
  error: string | undefined
  status: number
}

export function signInPage({ request, asked, issuers, error, status }: SignInChoices): ServedPage {
  const byIssuer = issuers.map(
    ({ name, label }) =>
      html`<a class="button" href="/oauth/sign-in/${name}?request=${request}">Sign in with ${label}</a>`,
  )
  return pageOf(
    `Sign in to connect ${asked.client_name}`,
    html`${errorOf(error)}<p>${clientOf(asked)} wants to use your agents.</p>${byIssuer}
<form method="post" action="/oauth/sign-in"><input type="hidden" name="request" value="${request}">
<label for="key">API key</label><input id="key" name="key" type="password" autocomplete="off" required maxlength="200">
<button class="main">Sign in</button></form>`,
    { status },
  )
}

type ConsentChoices = {
  request: string
  /** Shows that the form was made for this request and this session. */
  form: string
  asked: AuthorizationRequest
  /** The name of the person or key. */
  who: string
  projects: readonly { id: string; name: string }[]
  project_id: string
  needsCode: boolean
  error: string | undefined
  status: number
}

export function consentPage(choices: ConsentChoices): ServedPage {
  const { request, form, asked, who, projects, project_id, needsCode, error, status } = choices
  const options = projects.map(({ id, name }) =>
    id === project_id
      ? html`<option value="${id}" selected>${name}</option>`
      : html`<option value="${id}">${name}</option>`,
  )
  const project =
    projects.length > 1 &&
    html`<label for="project">Project</label><select id="project" name="project">${options}</select>`
  const code =
    needsCode &&
    html`<label for="code">One-time code</label><input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9]{6}" required>`
  return pageOf(
    `Connect ${asked.client_name}?`,
    html`${errorOf(error)}<p>${clientOf(asked)} wants to:</p>
<ul><li>see the agents that you can call${asked.agent === undefined ? '' : html` (only <strong>${asked.agent}</strong>)`}</li><li>send messages to them as you, and read their answers</li></ul>
<p>It can't change agents or settings. You can revoke it at any time.</p>${warningOf(asked)}
<form method="post" action="/oauth/consent"><input type="hidden" name="request" value="${request}"><input type="hidden" name="form" value="${form}">${project}${code}
<button class="main" name="decision" value="allow">Allow</button><button name="decision" value="deny" formnovalidate>Deny</button></form>
<p class="note">Signed in as ${who}. <a href="/oauth/consent?request=${request}&amp;as=other">Use another account</a></p>`,
    { status, formTargets: `'self' ${sourceOf(asked.redirect_uri)}` },
  )
}

function errorOf(error: string | undefined): Html {
  return error === undefined ? html`` : html`<p class="error" role="alert">${error}</p>`
}

/** Anyone can choose a name. Only the host is certain. */
function clientOf({ client_name, client_host }: AuthorizationRequest): Html {
  return client_name === client_host
    ? html`<strong>${client_host}</strong>`
    : html`An application that calls itself “${client_name}”, from <strong>${client_host}</strong>,`
}

/** Every program on a machine can pretend to be the client there. Other programs can register for a scheme. */
function warningOf({ redirect_uri, client_host }: AuthorizationRequest): Html {
  const { hostname, host, protocol } = new URL(redirect_uri)
  if (isLoopback(hostname))
    return html`<p><strong>Only allow this if you have just started it yourself:</strong> access is given to a program on your computer.</p>`
  if (protocol !== 'https:')
    return html`<p><strong>Only allow this if you have just started it yourself:</strong> access is given to the program that opens <code>${protocol}</code> links.</p>`
  return host === client_host ? html`` : html`<p>Access is given to <strong>${host}</strong>.</p>`
}

/** The place of a redirect in a policy. Policies can't name hosts of IPv6, nor of other schemes. */
function sourceOf(redirect_uri: string): string {
  const { protocol, origin, hostname } = new URL(redirect_uri)
  return /^https?:$/.test(protocol) && !hostname.startsWith('[') ? origin : protocol
}

const WHY_NOT = new Map([
  ['no_role', "You don't have a role here yet. Ask an administrator for one."],
  ['other_domain', "Email addresses of your domain aren't allowed to sign in here."],
  ['issuer_unavailable', "The identity provider isn't responding. Try again shortly."],
])

/** Why an identity provider did not sign a person in. */
export function whyNot(reason: string): string {
  return WHY_NOT.get(reason) ?? 'You were not signed in. Try again.'
}
