import type { ReplyChannel } from '../../operation/reply-channel.ts'
import type { Operation } from '../../operation.ts'
import { ipList } from '../../security/ip-list.ts'
import { runTokenReader } from '../../security/run-token.ts'
import { DEFAULT_PROJECT } from '../../storage/tables/project-tables.ts'
import type { CallRequest, NamedCall, Rendered } from '../dialects/dialect.ts'
import type { Edge } from './edge.ts'
import { authenticator, validUntil } from './guards/authenticate.ts'
import { authorise, authoriseNamed } from './guards/authorise.ts'
import { hasMoved, inProject } from './guards/choose-project.ts'
import { findAddress } from './guards/client-address.ts'
import { allowOrigin } from './guards/cors.ts'
import { failureLimit } from './guards/failure-limit.ts'
import { passGate } from './guards/pass-gate.ts'
import { countRequest, takeFromGate, takeFromProject } from './guards/rate-limit.ts'
import type { Arrived, Authorised, GuardedAgent, Known, PathParams } from './request.ts'
import { runAuthorised } from './run-authorised.ts'

/**
 * The steps of a request, in this order. A request is authenticated once and may carry several calls: each call is
 * counted, authorised and run.
 */
export type Pipeline = {
  /** Checks the address, the service's gate and the page's origin of every request, except for health checks. */
  enter(arrived: Arrived): Promise<void>
  /** Finds out who asks. */
  authenticate(arrived: Arrived): Promise<Known>
  /** When the right ends with which a request came in that is still answered. */
  validUntil(known: Known): Promise<number>
  /** Counts a failed sign-in of an address. Throws when there were too many. */
  countFailure(bucket: string): Promise<void>
  /** Applies the rate limits of the actor, its project and the service. Finds the agent that the path names. */
  count(known: Known): Promise<Known>
  /** Decides whether the actor may have this operation on this agent, before the body is read. */
  authorise(known: Known, operation: Operation, params: PathParams): Promise<Authorised>
  /** The same for a call that the body of an authorised request names. */
  authoriseNamed(authorised: Authorised, call: NamedCall): Promise<Authorised>
  /** With the body: asks for a second factor, validates, runs once, renders. */
  run(authorised: Authorised, wanted: CallRequest, channel: ReplyChannel): Promise<Rendered>
}

/** Every request takes these steps; an operation cannot forget one. */
export function pipeline(edge: Edge): Pipeline {
  const { parts, keys, verifyToken, findAgent, mayBeOfAgent } = edge
  const { config, findProject, limiter, log, now } = parts
  const failures = failureLimit(limiter, config.limits.failedAuthPerMinute, now)
  const takeAddress = findAddress(ipList(config.server.trustedProxies))
  const grantOrigin = allowOrigin({
    gate: edge.gate,
    findGates: (ref) => findGates(edge, ref),
    agentGates: async () => (await edge.guardedAgents()).map((agent) => agent.gate),
    now,
  })
  const count = async (known: Known) => {
    const { arrived, actor } = known
    const { run, scope } = actor
    if (run && arrived.route?.operation.isLimitedByRun && (await edge.isUnderWay(run))) return known
    await countRequest(known, limiter, config.limits)
    const ref = arrived.params['agent_id']
    const agent = known.agent ?? (ref === undefined ? undefined : await findAgent(scope.project_id, ref))
    await takeFromProject(arrived, agent?.project ?? (await findProject(scope.project_id)), limiter)
    await takeFromGate(arrived, edge.gate(), { bucket: 'service', whose: 'the service' }, limiter)
    return { arrived, actor, agent }
  }
  return {
    async enter(arrived) {
      takeAddress(arrived)
      passGate(arrived, edge.gate(), now())
      await grantOrigin(arrived)
    },
    authenticate: inNamedProject(
      edge,
      count,
      authenticator({
        keys,
        verifyToken,
        findAgent,
        findProject,
        mayBeOfAgent,
        readRunToken: runTokenReader(parts.keyring),
        failures,
        console: edge.console,
        tier: config.limits.defaultTier,
        bodyLimits: config,
        log,
      }),
    ),
    async validUntil(known) {
      const { agent_id } = known.arrived.trace
      const isMoved = agent_id !== null && (await hasMoved(edge, known.actor, agent_id))
      return isMoved ? 0 : validUntil(edge, known)
    },
    countFailure: (bucket) => failures.count(bucket),
    count,
    authorise: (known, operation, params) => authorise(edge, known, operation, params),
    authoriseNamed: (authorised, call) => authoriseNamed(edge, authorised, call),
    run: (authorised, wanted, channel) => runAuthorised(edge, authorised, wanted, channel),
  }
}

/** Works in the project that the request names. A request that names another than it may is counted like any other. */
function inNamedProject(
  { parts: { findProject } }: Edge,
  count: (known: Known) => Promise<Known>,
  identify: (arrived: Arrived) => Promise<Known>,
) {
  return async (arrived: Arrived): Promise<Known> => {
    const known = await identify(arrived)
    try {
      const actor = await inProject(arrived, known.actor, findProject)
      arrived.trace.actor = actor
      return { arrived, actor }
    } catch (error) {
      await count(known)
      throw error
    }
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
