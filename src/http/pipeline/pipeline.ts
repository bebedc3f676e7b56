import type { Socket } from 'node:net'
import type { Config } from '../../config.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Gate } from '../../security/gate.ts'
import { addressBucket, ipList } from '../../security/ip-list.ts'
import type { Rate, RateLimiter } from '../../security/limits/rate-limiter.ts'
import { runTokenReader } from '../../security/run-token.ts'
import { DEFAULT_PROJECT } from '../../storage/tables/project-tables.ts'
import type { Edge } from './edge.ts'
import { authenticator, validUntil } from './guards/authenticate.ts'
import { hasMoved, inProject } from './guards/choose-project.ts'
import { findAddress } from './guards/client-address.ts'
import { allowOrigin } from './guards/cors.ts'
import { type FailureLimit, failureLimit } from './guards/failure-limit.ts'
import { passGate } from './guards/pass-gate.ts'
import type { ArrivedRequest, GuardedAgent, IdentifiedRequest } from './request.ts'

/**
 * The first steps of a request, until its actor is known. A request is authenticated once and can contain several
 * calls. Each call is counted (`countRequest`), authorised (`authorise`) and run (`runAuthorised`).
 */
export type Pipeline = {
  /** Checks the IP address, the service's gate and the page's origin. Health checks skip this. */
  enter(arrived: ArrivedRequest): Promise<void>
  /** Finds the actor and the project. */
  authenticate(arrived: ArrivedRequest): Promise<IdentifiedRequest>
  /** Limits failed sign-ins. */
  failures: FailureLimit
}

/** The steps that every request takes. An operation can't skip one. */
export function pipeline(edge: Edge): Pipeline {
  const { applications, parts, service, keys, verifyToken, findAgent, mayBeOfAgent } = edge
  const { config, findProject, limiter, log, now } = parts
  const failures = failureLimit(limiter, config.limits.failedAuthPerMinute, now)
  const trusted = ipList(config.server.trustedProxies)
  // Without a forwarded address, all requests of a connection have the same address.
  const direct = new WeakMap<Socket, string>()
  const grantOrigin = allowOrigin({
    service,
    findGates: (ref) => findGates(edge, ref),
    agentGates: async () => (await edge.guardedAgents()).map((agent) => agent.gate),
    now,
  })
  const authenticate = authenticator({
    keys,
    verifyToken,
    findAgent,
    findProject,
    mayBeOfAgent,
    readRunToken: runTokenReader(parts.keyring),
    inNamedProject: (known) => inNamedProject(edge, known),
    failures,
    links: edge.links,
    findApplication: applications && ((token) => applications.find(token)),
    publicUrl: config.server.publicUrl,
    console: edge.console,
    tier: config.limits.defaultTier,
    bodyLimits: config,
    log,
  })
  return {
    async enter(arrived) {
      const { headers, socket } = arrived.message
      const isDirect = headers['x-forwarded-for'] === undefined
      const address = (isDirect && direct.get(socket)) || findAddress(arrived, trusted)
      if (isDirect) direct.set(socket, address)
      arrived.address = address
      const { gate } = service
      if (gate.connection) passGate(arrived, gate, now())
      if (headers.origin !== undefined) await grantOrigin(arrived)
    },
    authenticate,
    failures,
  }
}

/** When the permission for a request in progress ends. */
export async function endOfAccess(edge: Edge, known: IdentifiedRequest): Promise<number> {
  const { agent_id } = known.arrived.trace
  const isMoved = agent_id !== null && (await hasMoved(edge, known.actor, agent_id))
  return isMoved ? 0 : validUntil(edge, known)
}

/**
 * Moves the request's actor to the project that the request names. If the actor can't work there, the request still
 * counts against the rate limit.
 */
async function inNamedProject(edge: Edge, known: IdentifiedRequest): Promise<IdentifiedRequest> {
  const { arrived } = known
  try {
    const actor = await inProject(arrived, known.actor, edge.parts.findProject)
    arrived.trace.actor = actor
    return { arrived, actor }
  } catch (error) {
    await countRequest(edge, known)
    throw error
  }
}

/**
 * Counts a request, or a further call in it, against the limits of its actor's tier, its project and the service. Finds
 * the agent that the path names.
 */
export async function countRequest(edge: Edge, known: IdentifiedRequest): Promise<IdentifiedRequest> {
  const { arrived, actor } = known
  const { run, scope } = actor
  const { config, findProject, limiter } = edge.parts
  if (run && arrived.route?.operation.access.isLimitedByRun && (await edge.isUnderWay(run))) return known
  await takeFromTier(arrived, actor, limiter, config.limits)
  const ref = arrived.params['agent_id']
  const agent = known.agent ?? (ref === undefined ? undefined : await edge.findAgent(scope.project_id, ref))
  const project = agent?.project ?? (await findProject(scope.project_id))
  const limit = project?.limits.requests_per_minute ?? null
  if (project && limit !== null) {
    const reason = () => `the project allows ${limit} requests per minute (the project's limits)`
    const rate = { perMinute: limit, burst: limit }
    await takeRate(arrived, limiter, { bucket: `project:${project.id}`, rate, limit, reason })
  }
  const { gate } = edge.service
  if (gate.rate) await takeFromGate(arrived, gate.rate, { bucket: 'service', whose: 'the service' }, limiter)
  return { arrived, actor, agent }
}

/** Counts a request against its actor's tier. */
export async function takeFromTier(
  arrived: ArrivedRequest,
  actor: Actor,
  limiter: RateLimiter,
  { tiers, defaultTier }: Config['limits'],
): Promise<void> {
  const name = Object.hasOwn(tiers, actor.tier) ? actor.tier : defaultTier
  const tier = tiers[name]
  if (!tier) return
  const { requestsPerMinute: limit, burst } = tier
  const reason = () => `tier "${name}" allows ${limit} requests per minute (limits.tiers.${name})`
  // A link has one key for all its visitors. One of them must not use up the rate of the others.
  const whose = arrived.visitor ? `${actor.id} ${addressBucket(arrived.address)}` : actor.id
  await takeRate(arrived, limiter, { bucket: `key:${whose}`, rate: { perMinute: limit, burst }, limit, reason })
}

/** Counts a request against the limit that the service or an agent sets for all callers together. */
export async function takeFromGate(
  arrived: ArrivedRequest,
  rate: NonNullable<Gate['rate']>,
  { bucket, whose }: { bucket: string; whose: string },
  limiter: RateLimiter,
): Promise<void> {
  const { limit } = rate
  const reason = () => `${whose} allows ${limit} requests from all callers together (security.rateLimit)`
  await takeRate(arrived, limiter, { bucket, rate, limit, reason })
}

type RateLimit = { bucket: string; rate: Rate; limit: number; reason(): string }

/**
 * Counts a request against one limit. If several limits apply, the headers show the one with the least left. The error
 * names the limit and its setting.
 */
async function takeRate(
  arrived: ArrivedRequest,
  limiter: RateLimiter,
  { bucket, rate, limit, reason }: RateLimit,
): Promise<void> {
  const decision = await limiter.take(bucket, rate)
  const { allowed, remaining, reset_at, retry_after_ms } = decision
  if (allowed && arrived.rate && arrived.rate.remaining <= remaining) return
  arrived.rate = decision
  const { headers } = arrived
  headers['X-RateLimit-Limit'] = String(limit)
  headers['X-RateLimit-Remaining'] = String(Math.min(remaining, limit))
  headers['X-RateLimit-Reset'] = String(Math.ceil(reset_at / 1000))
  if (allowed) return
  const retry_after = Math.max(1, Math.ceil(retry_after_ms / 1000))
  throw new ApiError('rate_limited', `Rate limit exceeded: ${reason()}. Try again in ${retry_after} s.`, {
    retry_after,
  })
}

/** Found in memory, because a client without a key must not cause a query. */
async function findGates({ guardedAgents }: Edge, ref: string) {
  const found = (await guardedAgents()).filter(({ id, name }) => id === ref || name === ref)
  const isOwn = ({ id, project_id }: GuardedAgent) => id === ref || project_id === DEFAULT_PROJECT
  return {
    own: found.find(isOwn)?.gate,
    namesakes: found.filter((agent) => !isOwn(agent)).map(({ gate }) => gate),
  }
}
