import type { Operation } from '../../operation.ts'
import type { Cors, Gate } from '../../security/gate.ts'
import type { Rendered } from '../dialects/respond.ts'
import type { Exchange } from './exchange.ts'
import { passesGate } from './pass-gate.ts'

const EXPOSED = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Idempotent-Replayed',
  'Retry-After',
  'Location',
  'Preference-Applied',
  'Deprecation',
  'Sunset',
].join(', ')

const TAKEN = ['Authorization', 'Content-Type', 'Idempotency-Key', 'Last-Event-ID', 'Prefer', 'X-Service-OTP'].join(
  ', ',
)

const BELOW_AGENT = /^\/v1\/agents\/([^/]+)/

type Policies = {
  gate(): Gate
  /** The gate of an agent, by id or name, if it has one of its own. */
  findGate(ref: string): Promise<Gate | undefined>
  now(): number
}

/**
 * Lets pages of a listed origin read the reply, whatever it is: a refusal comes without a key too, so this is decided
 * before one is looked at. Of an agent's and the service's list the agent's holds on its routes. Never with credentials.
 */
export function allowOrigin({ gate, findGate, now }: Policies) {
  const grant = (exchange: Exchange, cors: Cors | undefined) => {
    const { origin } = exchange.request.headers
    if (origin === undefined || !cors?.origins.has(origin)) return
    exchange.cors = cors
    exchange.headers['Access-Control-Allow-Origin'] = origin
    exchange.headers['Access-Control-Expose-Headers'] = EXPOSED
    exchange.headers['Vary'] = 'Origin'
  }
  const grantBelow = async (exchange: Exchange, ref: string) => {
    const own = await findGate(ref)
    if (!own?.cors) return grant(exchange, gate().cors)
    if (passesGate(exchange, own, now())) grant(exchange, own.cors)
  }

  return (exchange: Exchange): void | Promise<void> => {
    // Only browsers say where a page is from.
    if (exchange.request.headers.origin === undefined) return
    const ref = agentIn(exchange.path)
    return ref === undefined ? grant(exchange, gate().cors) : grantBelow(exchange, ref)
  }
}

/** As the router reads it: an escaped name is the same agent's. */
function agentIn(path: string): string | undefined {
  const ref = BELOW_AGENT.exec(path)?.[1]
  try {
    return ref && decodeURIComponent(ref)
  } catch {
    return ref
  }
}

/** Whether a browser asks beforehand what a page may do, and the page's origin is listed. */
export function isPreflight({ cors, request: { method, headers } }: Exchange): boolean {
  return cors !== undefined && method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

export function preflightAnswer(operations: readonly Operation[]): (exchange: Exchange) => Rendered {
  const used = new Set<string>(operations.map(({ method }) => method))
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
