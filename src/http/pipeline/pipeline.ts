import type { Socket } from 'node:net'
import { ipList } from '../../security/ip-list.ts'
import { runTokenReader } from '../../security/run-token.ts'
import { DEFAULT_PROJECT } from '../../storage/tables/project-tables.ts'
import type { Edge } from './edge.ts'
import { authenticator, validUntil } from './guards/authenticate.ts'
import { hasMoved, inProject } from './guards/choose-project.ts'
import { findAddress } from './guards/client-address.ts'
import { allowOrigin } from './guards/cors.ts'
import { failureLimit } from './guards/failure-limit.ts'
import { passGate } from './guards/pass-gate.ts'
import { countRequest } from './guards/rate-limit.ts'
import type { Arrived, GuardedAgent, Known } from './request.ts'

/**
 * The first steps of a request, until it is known who asks. A request is authenticated once and may carry several calls:
 * each call is counted (`countRequest`), authorised (`authorise`) and run (`runAuthorised`).
 */
export type Pipeline = {
  /** Checks the address, the service's gate and the page's origin of every request, except for health checks. */
  enter(arrived: Arrived): Promise<void>
  /** Finds out who asks, and in which project. */
  authenticate(arrived: Arrived): Promise<Known>
  /** Counts a failed sign-in of an address. Throws when there were too many. */
  countFailure(bucket: string): Promise<void>
}

/** Every request takes these steps; an operation cannot forget one. */
export function pipeline(edge: Edge): Pipeline {
  const { parts, service, keys, verifyToken, findAgent, mayBeOfAgent } = edge
  const { config, findProject, limiter, log, now } = parts
  const failures = failureLimit(limiter, config.limits.failedAuthPerMinute, now)
  const trusted = ipList(config.server.trustedProxies)
  // A connection without a forwarded address has the same address for all its requests.
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
    countFailure: (bucket) => failures.count(bucket),
  }
}

/** When the right ends with which a request came in that is still answered. */
export async function endOfAccess(edge: Edge, known: Known): Promise<number> {
  const { agent_id } = known.arrived.trace
  const isMoved = agent_id !== null && (await hasMoved(edge, known.actor, agent_id))
  return isMoved ? 0 : validUntil(edge, known)
}

/** Works in the project that the request names. A request that names another than it may is counted like any other. */
async function inNamedProject(edge: Edge, known: Known): Promise<Known> {
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

/** Answered from memory, because a client that has shown no key yet must not cause a query. */
async function findGates({ guardedAgents }: Edge, ref: string) {
  const found = (await guardedAgents()).filter(({ id, name }) => id === ref || name === ref)
  const isOwn = ({ id, project_id }: GuardedAgent) => id === ref || project_id === DEFAULT_PROJECT
  return {
    own: found.find(isOwn)?.gate,
    namesakes: found.filter((agent) => !isOwn(agent)).map(({ gate }) => gate),
  }
}
