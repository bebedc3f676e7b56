import { ApiError, notFound } from '../../errors.ts'
import { type Actor, requirePermission } from '../../operation/actor.ts'
import type { Delivery } from '../../operation/delivery.ts'
import type { Parts } from '../../operation/parts.ts'
import { requireEveryUser, requireScope } from '../../operation/scope.ts'
import type { Operation } from '../../operation.ts'
import type { Gate } from '../../security/gate.ts'
import { ipList } from '../../security/ip-list.ts'
import type { RateLimiter } from '../../security/limits/rate-limiter.ts'
import { covers } from '../../security/permissions.ts'
import type { VerifyToken } from '../../security/tokens/token-verifier.ts'
import type { Rendered } from '../dialects/respond.ts'
import { readBody } from '../input/body.ts'
import { validate } from '../input/validate.ts'
import { findAddress } from '../server/client.ts'
import { OPEN_PATHS } from '../server/open-routes.ts'
import { authenticator, type VerifyKey } from './authenticate.ts'
import { allowOrigin } from './cors.ts'
import type { AgentGate, Exchange, GuardedAgent, Route } from './exchange.ts'
import { failureLimit } from './failure-limit.ts'
import { fingerprint, type Idempotency, readIdempotencyKey } from './idempotency.ts'
import { passesGate, passGate, promiseHttps } from './pass-gate.ts'
import { rateLimit, takeFromGate } from './rate-limit.ts'
import { requireCode, type SpendCode } from './require-code.ts'
import { runAndRender } from './run-and-render.ts'

/** What the edge needs from the rest of the house; it knows no slice. */
export type Edge = {
  parts: Parts
  operations: readonly Operation[]
  /** What the service asks of every request, as its files say now. */
  gate(): Gate
  verifyKey: VerifyKey
  verifyToken: VerifyToken | undefined
  findAgent(ref: string): AgentGate | undefined | Promise<AgentGate | undefined>
  /** The agents that have a gate of their own. */
  guardedAgents(): Promise<readonly GuardedAgent[]>
  spendCode: SpendCode
  limiter: RateLimiter
  idempotency: Idempotency
}

type Step = (exchange: Exchange) => void | Promise<void>

export type Pipeline = {
  /** Every request but the probes. A step that need not wait does not: a promise only where somebody must be asked. */
  enter(exchange: Exchange): void | Promise<void>
  /** What needs a key, before its body is read. */
  admit(exchange: Exchange): void | Promise<void>
  /** With the body: second factor, validate, once, run, render. */
  run(exchange: Exchange, route: Route, body: Buffer | undefined, delivery: Delivery): Promise<Rendered>
}

/** Every request takes these steps in this order; an operation cannot forget one. */
export function pipeline(edge: Edge): Pipeline {
  const { limiter, parts, verifyKey, verifyToken, findAgent } = edge
  const { config, log, now } = parts
  const failures = failureLimit(limiter, config.limits.failedAuthPerMinute, now)
  const entrance: Step[] = [
    findAddress(ipList(config.server.trustedProxies)),
    (exchange) => passGate(exchange, edge.gate(), now()),
    allowOrigin({ gate: edge.gate, findGate: (ref) => findGate(edge, ref), now }),
  ]
  const admission: Step[] = [
    authenticator({ verifyKey, verifyToken, findAgent, failures, tier: config.limits.defaultTier, log }),
    rateLimit(limiter, config.limits),
    (exchange) => takeFromGate(exchange, edge.gate(), 'service', limiter),
    requireRoute(edge.operations),
    requireOperationPermission,
    (exchange) => passAgent(exchange, edge),
  ]
  return {
    enter: (exchange) => takeSteps(entrance, exchange),
    admit: (exchange) => takeSteps(admission, exchange),
    run: (exchange, route, body, delivery) => runOperation(edge, { exchange, route, body, delivery }),
  }
}

function takeSteps(steps: readonly Step[], exchange: Exchange, from = 0): void | Promise<void> {
  for (let i = from; i < steps.length; i++) {
    const pending = (steps[i] as Step)(exchange)
    if (pending) return pending.then(() => takeSteps(steps, exchange, i + 1))
  }
}

function requireRoute(operations: readonly Operation[]): Step {
  const documents = OPEN_PATHS.flatMap((path) => [
    { method: 'GET', path },
    { method: 'HEAD', path },
  ])
  const paths = [...operations, ...documents].map(({ method, path }) => ({
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
  if (!route) return
  const { permission, ownPermission, userTokens } = route.operation
  const { permissions } = actor as Actor
  const mayOwn = ownPermission !== undefined && covers(permissions, ownPermission)
  if (permission && !mayOwn) requirePermission(actor as Actor, permission)
  if (!userTokens) requireEveryUser(actor as Actor)
}

function passAgent(exchange: Exchange, edge: Edge): void | Promise<void> {
  const { agent_id: ref } = exchange.request.params as { agent_id?: string }
  if (ref === undefined || !exchange.route) return
  const enter = (agent: AgentGate | undefined) => {
    // First what the actor may not know, then that there is no such agent.
    requireScope(exchange.actor as Actor, agent?.id ?? null)
    if (!agent) throw notFound('Agent', ref)
    return enterAgent(exchange, agent, edge)
  }
  const found = edge.findAgent(ref)
  return found instanceof Promise ? found.then(enter) : enter(found)
}

/** Past the agent's own security. */
function enterAgent(exchange: Exchange, agent: AgentGate, { limiter, parts }: Edge): void | Promise<void> {
  exchange.agent = agent
  if (!agent.gate) return
  promiseHttps(exchange, agent.gate)
  passGate(exchange, agent.gate, parts.now())
  return takeFromGate(exchange, agent.gate, `agent:${agent.id}`, limiter)
}

/** Answered from memory: whoever asks has shown no key yet. */
async function findGate({ guardedAgents }: Edge, ref: string): Promise<Gate | undefined> {
  return (await guardedAgents()).find(({ id, name }) => id === ref || name === ref)?.gate
}

/** A list shows nothing of these, as their own routes would show nothing to this request. */
async function findClosed(exchange: Exchange, { guardedAgents, parts }: Edge): Promise<string[]> {
  const time = parts.now()
  const closed = (await guardedAgents()).filter(({ gate }) => !passesGate(exchange, gate, time))
  return closed.map(({ id }) => id)
}

type Request = { exchange: Exchange; route: Route; body: Buffer | undefined; delivery: Delivery }

async function runOperation(edge: Edge, { exchange, route, body: bytes, delivery }: Request): Promise<Rendered> {
  const { operation } = route
  const body = readBody(operation, bytes)
  const asked = operation.concerns ? undefined : askForCode(edge, exchange, operation, body)
  if (asked) await asked
  const given = exchange.request.params as Record<string, string>
  const input = {
    params: exchange.agent ? { ...given, agent_id: exchange.agent.id } : given,
    query: route.readQuery(exchange.query) as Record<string, unknown>,
    body: operation.body ? validate(operation.body, body) : undefined,
  }
  // Which agent it is about is known only now.
  if (operation.concerns) {
    const ref = await operation.concerns(input, edge.parts.storage.db)
    const agent = ref === null ? undefined : await edge.findAgent(ref)
    if (ref !== null) requireScope(exchange.actor as Actor, agent?.id ?? null)
    if (agent) await enterAgent(exchange, agent, edge)
    await askForCode(edge, exchange, operation, body)
  }
  const closedAgents = () => findClosed(exchange, edge)
  const run = { exchange, operation, input, fields: Object.keys(Object(body)), delivery, closedAgents }

  const key = operation.idempotent ? readIdempotencyKey(exchange.request) : undefined
  if (key === undefined) return await runAndRender(edge, run)
  const request = {
    scope: repeatScope(exchange.actor as Actor),
    key,
    fingerprint: fingerprint(operation.method, exchange.path, exchange.query, body),
    secret: operation.secret ?? false,
  }
  // Whoever sends a key will ask again: the run goes on without its client.
  const unattended = { ...run, delivery: { ...delivery, onHangUp: undefined } }
  return edge.idempotency.once(request, (held) => runAndRender(edge, { ...unattended, held }))
}

/**
 * Users for whom an application signs tokens under one name must not meet each other's answers. As JSON, because both
 * parts may hold any separator.
 */
function repeatScope({ id, scope }: Actor): string {
  return scope.user_id === null ? id : JSON.stringify([id, scope.user_id])
}

function askForCode(edge: Edge, exchange: Exchange, operation: Operation, body: unknown): void | Promise<void> {
  const own = exchange.agent?.gate
  const gates = own ? [edge.gate(), own] : [edge.gate()]
  return requireCode(exchange, operation, body, { gates, spend: edge.spendCode })
}
