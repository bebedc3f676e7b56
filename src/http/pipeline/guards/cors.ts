import type { Cors, Gate } from '../../../security/gate.ts'
import type { RenderedReply } from '../../dialects/dialect.ts'
import type { ArrivedRequest } from '../request.ts'
import { passesGate } from './pass-gate.ts'

const EXPOSED = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Idempotent-Replayed',
  'Retry-After',
  'Location',
  'ETag',
  'Preference-Applied',
  // OpenAI's clients use this header to decide whether to retry.
  'X-Should-Retry',
  'Deprecation',
  'Sunset',
  'Mcp-Session-Id',
].join(', ')

const TAKEN = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'Last-Event-ID',
  'Moorage-Project',
  'Prefer',
  // OpenAI's clients set this header. Firefox and Safari first ask whether a page may send it.
  'User-Agent',
  'X-Service-OTP',
  'Mcp-Protocol-Version',
  'Mcp-Session-Id',
  'Mcp-Method',
  'Mcp-Name',
  'A2A-Version',
  'A2A-Extensions',
  // The headers with which OpenAI's client describes itself.
  'X-Stainless-Arch',
  'X-Stainless-Async',
  'X-Stainless-Helper-Method',
  'X-Stainless-Lang',
  'X-Stainless-OS',
  'X-Stainless-Package-Version',
  'X-Stainless-Retry-Count',
  'X-Stainless-Runtime',
  'X-Stainless-Runtime-Version',
  'X-Stainless-Timeout',
].join(', ')

const BELOW_AGENT = /^\/v1\/agents\/([^/]+)/

type Policies = {
  service: { readonly gate: Gate }
  /**
   * Finds the agent's own gate by its ID or, in the default project, its name; and the gates of agents with this name
   * in other projects.
   */
  findGates(ref: string): Promise<{ own: Gate | undefined; namesakes: readonly Gate[] }>
  /** The gates of all agents that have their own. */
  agentGates(): Promise<readonly Gate[]>
  now(): number
}

/**
 * Lets pages of a listed origin read the reply. Only browsers send an origin. This is decided before the key is
 * checked, because a page must also be able to read a refusal. On the routes of an agent that has its own list, that
 * list replaces the service's. Credentials are never allowed.
 */
export function allowOrigin({ service, findGates, agentGates, now }: Policies) {
  const grantBelow = async (arrived: ArrivedRequest, ref: string) => {
    const { own, namesakes } = await findGates(ref)
    if (!own?.cors) grant(arrived, service.gate.cors)
    // The client's project isn't known yet, and one project must not shut out the pages of another.
    for (const each of own ? [own, ...namesakes] : namesakes) {
      if (!arrived.cors && passesGate(arrived, each, now())) grant(arrived, each.cors)
    }
  }
  // The agent isn't known yet. A page that any agent lists may send the request and read a refusal. See `settleOrigin`.
  const grantAny = async (arrived: ArrivedRequest) => {
    grant(arrived, service.gate.cors)
    for (const own of arrived.cors ? [] : await agentGates()) {
      if (passesGate(arrived, own, now())) grant(arrived, own.cors)
    }
  }

  return async (arrived: ArrivedRequest): Promise<void> => {
    const ref = agentIn(arrived.path)
    if (ref !== undefined) return grantBelow(arrived, ref)
    return arrived.dialect.namesAgents ? grantAny(arrived) : grant(arrived, service.gate.cors)
  }
}

function grant(arrived: ArrivedRequest, cors: Cors | undefined): void {
  const { origin } = arrived.message.headers
  if (origin === undefined || !cors?.origins.has(origin)) return
  arrived.cors = cors
  arrived.headers['Access-Control-Allow-Origin'] = origin
  arrived.headers['Access-Control-Expose-Headers'] = EXPOSED
  arrived.headers['Vary'] = 'Origin'
}

/** Decides again which pages may read the reply, once the request's project or agent is known. */
export function settleOrigin(arrived: ArrivedRequest, policies: readonly (Cors | undefined)[]): void {
  arrived.cors = undefined
  delete arrived.headers['Access-Control-Allow-Origin']
  delete arrived.headers['Access-Control-Expose-Headers']
  for (const cors of policies) if (!arrived.cors) grant(arrived, cors)
}

/** The agent's name, decoded as the router does it, because an escaped name means the same agent. */
function agentIn(path: string): string | undefined {
  const ref = BELOW_AGENT.exec(path)?.[1]
  try {
    return ref && decodeURIComponent(ref)
  } catch {
    return ref
  }
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Whether a page in a browser sent the request and its origin isn't listed. Our own page on this machine isn't foreign.
 * Under any other name it would be, because an attacker can point a name of theirs at our address.
 */
export function isFromForeignPage({ cors, message: { headers } }: ArrivedRequest): boolean {
  if (headers.origin === undefined || cors) return false
  const page = URL.parse(headers.origin)
  return !page || page.host !== headers.host || !LOOPBACK.has(page.hostname)
}

/** Whether this is a browser's preflight request. */
export function isPreflight({ message: { method, headers } }: ArrivedRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

export function preflightAnswer(routes: readonly { method: string }[]): (arrived: ArrivedRequest) => RenderedReply {
  const used = new Set<string>(routes.map(({ method }) => method))
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => used.has(method)).join(', ')
  return ({ cors }) => ({
    status: 200,
    headers: {
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': TAKEN,
      'Access-Control-Max-Age': String(cors?.maxAge ?? 0),
    },
    body: '{"success":true,"data":{}}',
  })
}
