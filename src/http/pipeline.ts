import type { Config } from '../config.ts'
import { ApiError, notFound } from '../errors.ts'
import {
  type Actor,
  type Context,
  changes,
  type Delivery,
  type Operation,
  outOfScope,
  type Parts,
  requirePermission,
} from '../operation.ts'
import { clientAddress, ipList } from '../security/ip-list.ts'
import type { RateLimiter } from '../security/rate-limiter.ts'
import type { Database } from '../storage/database.ts'
import { authenticator, type Verify } from './authenticate.ts'
import { parseJson } from './body.ts'
import type { AgentGate, Exchange, Route } from './exchange.ts'
import { fingerprint, type Held, type Idempotency, readIdempotencyKey } from './idempotency.ts'
import { rateLimit } from './rate-limit.ts'
import { type Rendered, render } from './respond.ts'
import { validate } from './validate.ts'

/** What the edge needs from the rest of the house; it knows no slice. */
export type Edge = {
  parts: Parts
  operations: readonly Operation[]
  verify: Verify
  findAgent(ref: string): AgentGate | undefined | Promise<AgentGate | undefined>
  limiter: RateLimiter
  idempotency: Idempotency
}

type Step = (exchange: Exchange) => void | Promise<void>

export type Pipeline = {
  /** Before the body is read. */
  admit(exchange: Exchange): Promise<void>
  /** With the body: validate, once, run, render. */
  run(exchange: Exchange, route: Route, body: Buffer | undefined, delivery: Delivery): Promise<Rendered>
}

/** Every request takes these steps in this order; an operation cannot forget one. */
export function pipeline(edge: Edge): Pipeline {
  const { config } = edge.parts
  const steps: Step[] = [
    findAddress(config),
    authenticator(edge.verify, edge.limiter, config.limits.failedAuthPerMinute),
    rateLimit(edge.limiter, config.limits),
    requireRoute(edge.operations),
    requireOperationPermission,
    passAgentGate(edge.findAgent),
  ]
  return {
    async admit(exchange) {
      for (const step of steps) {
        const pending = step(exchange)
        if (pending) await pending
      }
    },
    run: (exchange, route, body, delivery) => runOperation(edge, { exchange, route, body, delivery }),
  }
}

function findAddress({ server }: Config): Step {
  const trusted = ipList(server.trustedProxies)
  return (exchange) => {
    const forwarded = exchange.request.headers['x-forwarded-for']
    const address = clientAddress(exchange.address, Array.isArray(forwarded) ? forwarded.join(',') : forwarded, trusted)
    if (address === undefined) throw new ApiError('forbidden', 'X-Forwarded-For is malformed')
    exchange.address = address
  }
}

function requireRoute(operations: readonly Operation[]): Step {
  const paths = operations.map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  return ({ route, path }) => {
    // The router takes an empty last word for a parameter.
    if (route && !path.endsWith('/')) return
    const allowed = paths.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    if (allowed.length > 0) {
      const Allow = [...new Set(allowed)].join(', ')
      throw new ApiError('method_not_allowed', `This path takes ${Allow}`, { headers: { Allow } })
    }
    const hint = path.startsWith('/v1/') ? '' : ': every path starts with /v1'
    throw new ApiError('not_found', `No such path${hint}`)
  }
}

function requireOperationPermission({ route, actor }: Exchange): void {
  const permission = route?.operation.permission
  if (permission) requirePermission(actor as Actor, permission)
}

function passAgentGate(findAgent: Edge['findAgent']): Step {
  return async (exchange) => {
    const params = exchange.request.params as { agent_id?: string }
    if (params.agent_id === undefined || !exchange.route) return
    const found = findAgent(params.agent_id)
    const agent = found instanceof Promise ? await found : found
    const scope = (exchange.actor as Actor).agent_id
    if (scope !== null && agent?.id !== scope) throw outOfScope()
    if (!agent) throw notFound('Agent', params.agent_id)
    exchange.agent = agent
  }
}

type Request = { exchange: Exchange; route: Route; body: Buffer | undefined; delivery: Delivery }

async function runOperation(edge: Edge, { exchange, route, body: bytes, delivery }: Request): Promise<Rendered> {
  const { operation } = route
  const body = readBody(operation, bytes)
  const given = exchange.request.params as Record<string, string>
  const input = {
    params: exchange.agent ? { ...given, agent_id: exchange.agent.id } : given,
    query: route.readQuery(exchange.query),
    body: operation.body ? validate(operation.body, body) : undefined,
  }

  const key = operation.idempotent ? readIdempotencyKey(exchange.request) : undefined
  if (key === undefined) return runAndRender(edge, { exchange, operation, input, delivery })
  const request = {
    scope: (exchange.actor as Actor).id,
    key,
    fingerprint: fingerprint(operation.method, exchange.path, exchange.query, body),
    secret: operation.secret ?? false,
  }
  // Whoever sends a key will ask again: the run goes on without its client.
  const unattended = { ...delivery, onHangUp: undefined }
  return edge.idempotency.once(request, (held) =>
    runAndRender(edge, { exchange, operation, input, delivery: unattended, held }),
  )
}

function readBody({ body, bodyOptional }: Operation, bytes: Buffer | undefined): unknown {
  if (bytes === undefined || bytes.length === 0) {
    if (!body || bodyOptional) return {}
    throw new ApiError('invalid_request', 'The request needs a JSON body')
  }
  const value = parseJson(bytes)
  if (!body) throw new ApiError('invalid_request', 'This request takes no body')
  return value
}

type Run = {
  exchange: Pick<Exchange, 'path' | 'request_id' | 'actor'>
  operation: Operation
  input: { params: unknown; query: unknown; body: unknown }
  delivery: Delivery
  held?: Held
}

/** The effects and, for a request that may be repeated, its reply commit together. */
export async function runAndRender(
  { parts }: Pick<Edge, 'parts'>,
  { exchange, operation, input, delivery, held }: Run,
): Promise<Rendered> {
  const { path, request_id } = exchange
  // A search has its page in the body.
  const paging = operation.method === 'GET' ? input.query : input.body
  const toReply = (result: unknown) => render(operation, result, { path, paging })
  const context = { ...parts, ...delivery, actor: exchange.actor as Actor, request_id }

  if (!changes(operation) || operation.transaction === false) {
    let committed: Rendered | undefined
    const commit: Context['commit'] = async ({ writes, guard }, data) => {
      const reply = data === undefined ? undefined : toReply(data)
      const accept = async (db: Database) =>
        (!guard || (await guard(db))) && (!held || !reply || (await held.complete(db, reply)))
      const kept = await parts.journal.commit(guard || (held && reply) ? { writes, guard: accept } : { writes })
      if (kept) committed = reply
      return kept
    }
    const result = await operation.run(input, { ...context, db: parts.storage.db, commit })
    const reply = committed ?? toReply(result)
    if (held && !committed && !(await held.complete(parts.storage.db, reply))) throw takenOver()
    return reply
  }

  const commit = () => Promise.reject(new Error(`${operation.id} runs in a transaction: write to it`))
  return parts.storage.transaction(async (db) => {
    const reply = toReply(await operation.run(input, { ...context, db, commit }))
    if (held && !(await held.complete(db, reply))) throw takenOver()
    return reply
  })
}

function takenOver(): ApiError {
  return new ApiError('idempotency_key_in_use', 'Another run took over this Idempotency-Key', { retry_after: 1 })
}
