import type { Socket } from 'node:net'
import { ApiError, forbidden, unavailable } from '../../../errors.ts'
import type { Logger } from '../../../lib/log.ts'
import { type Actor, endOfRight } from '../../../operation/actor.ts'
import type { FindProject } from '../../../operation/project-snapshot.ts'
import type { Scope } from '../../../operation/scope.ts'
import { sha256 } from '../../../security/digest.ts'
import { addressBucket } from '../../../security/ip-list.ts'
import { isWellFormedKey } from '../../../security/key-format.ts'
import { covers, coversAll } from '../../../security/permissions.ts'
import { RUN_TOKEN_PREFIX, type TokenRun } from '../../../security/run-token.ts'
import { CLOCK_SKEW_SECONDS, type RefusedToken, refuse } from '../../../security/tokens/bearer-token.ts'
import type { TokenGrant, VerifyToken } from '../../../security/tokens/token-verifier.ts'
import { DEFAULT_PROJECT } from '../../../storage/tables/project-tables.ts'
import type { BodyLimits } from '../../input/body.ts'
import type { AgentAccess, ArrivedRequest, IdentifiedRequest, VerifiedKey } from '../request.ts'
import { AgentFinder } from './agent-named.ts'
import { ACCESS_TOKEN_PREFIX, actorOfApplication, type FindApplication } from './application-token.ts'
import { PROJECT_HEADER, projectMeant } from './choose-project.ts'
import { actorOfCookie, type ConsoleSessions } from './console-cookie.ts'
import type { ConsoleDoor } from './console-door.ts'
import type { FailureLimit } from './failure-limit.ts'
import { identifyVisitor, type Links } from './visitor.ts'

export type KeyCheck = {
  /** Undefined unless this is the hash of a valid key. */
  verify(hash: string): Promise<VerifiedKey | undefined>
}

export type Credentials = {
  keys: KeyCheck
  /** Checks tokens against the service's own `auth`. */
  verifyToken: VerifyToken | undefined
  findAgent(project_id: string, ref: string): Promise<AgentAccess | undefined>
  findProject: FindProject
  /** Whether some agent accepts tokens that look like this one. */
  mayBeOfAgent(token: string): Promise<boolean>
  failures: FailureLimit
  /** Moves the request's actor to the project that the request names. */
  inNamedProject(known: IdentifiedRequest): Promise<IdentifiedRequest>
  readRunToken(token: string): TokenRun | undefined
  links: Links
  /** Undefined if people can't connect applications. */
  findApplication: FindApplication | undefined
  publicUrl: string | undefined
  /** Undefined if the console is switched off. */
  console: { sessions: ConsoleSessions; door: ConsoleDoor } | undefined
  /** The rate-limit tier of actors that use a token. */
  tier: string
  /** How large a body can be, and how long it can take. */
  bodyLimits: BodyLimits
  log: Logger
}

const BEARER = /^Bearer ([\x21-\x7e]{1,8192})$/i
const KEY_PREFIX = 'mrg_'

/** Finds the actor for a key, a token or a cookie. Every bad key gets the same answer. */
export function authenticator(credentials: Credentials) {
  const { keys, failures, console, bodyLimits } = credentials
  const named = new AgentFinder(bodyLimits)

  // A client sends the same key with every request of a connection, so its hash is computed only once.
  const hashes = new WeakMap<Socket, { authorization: string; hash: string }>()

  const hashOf = (authorization: string, socket: Socket) => {
    const bearer = BEARER.exec(authorization)?.[1]
    if (!bearer?.startsWith(KEY_PREFIX) || !isWellFormedKey(bearer)) return undefined
    const hash = sha256(bearer)
    hashes.set(socket, { authorization, hash })
    return hash
  }

  const actorWithoutKey = async (arrived: ArrivedRequest, authorization: string) => {
    const bearer = BEARER.exec(authorization)?.[1]
    if (bearer === undefined) {
      // A key takes precedence over a cookie even if it is wrong, because the client chose to use the key.
      return console && authorization === '' ? actorOfCookie(arrived, console) : undefined
    }
    if (bearer.startsWith(KEY_PREFIX)) return undefined
    const run = bearer.startsWith(RUN_TOKEN_PREFIX) ? credentials.readRunToken(bearer) : undefined
    if (run) return actorOfRun(run, credentials.tier)
    if (bearer.startsWith(ACCESS_TOKEN_PREFIX)) {
      const { findApplication, publicUrl } = credentials
      return findApplication && actorOfApplication(arrived, bearer, findApplication, publicUrl)
    }
    // Checking a token may require a request to its provider. This stops an attacker from flooding the provider through
    // this service.
    failures.refuseBlocked(addressBucket(arrived.address))
    return actorOfToken(bearer, arrived, credentials, named)
  }

  return async (arrived: ArrivedRequest): Promise<IdentifiedRequest> => {
    if (arrived.route?.isForVisitors) return identifyVisitor(arrived, credentials)
    const { headers, socket } = arrived.message
    const { authorization = '' } = headers
    const known = hashes.get(socket)
    const hash = known?.authorization === authorization ? known.hash : hashOf(authorization, socket)
    const verified = hash === undefined ? undefined : await keys.verify(hash)
    if (hash !== undefined) arrived.key = { hash, verified }
    const actor = hash === undefined ? await actorWithoutKey(arrived, authorization) : verified?.actor
    if (!actor) {
      await failures.count(addressBucket(arrived.address))
      throw unauthorized()
    }
    arrived.trace.actor = actor
    return headers[PROJECT_HEADER] === undefined ? { arrived, actor } : credentials.inNamedProject({ arrived, actor })
  }
}

/**
 * The actor of a remote agent, which may request steps of its run and read its files no matter who the run's user is.
 */
function actorOfRun(run: TokenRun, tier: string): Actor {
  const { project_id, agent_id, request_id } = run
  const scope = { project_id, agent_id, user_id: null }
  return {
    kind: 'token',
    id: `run:${request_id}`,
    run,
    scope,
    reach: 'project',
    permissions: [],
    tier,
    expires_at: null,
  }
}

/** When the permission for a request ends. 0 means that it has already ended, infinity that it never ends. */
export async function validUntil(
  { keys, console }: Pick<Credentials, 'keys' | 'console'>,
  { arrived, actor }: IdentifiedRequest,
): Promise<number> {
  // A console session's secret changes from time to time, so the session is found by its ID.
  if (actor.console_session !== undefined) return console?.sessions.validUntil(actor) ?? 0
  // New requests with a token are accepted until this time, so its streams continue until then too.
  if (actor.kind === 'token') return (actor.expires_at ?? Number.POSITIVE_INFINITY) + CLOCK_SKEW_SECONDS * 1000
  const present = arrived.key && (await keys.verify(arrived.key.hash))?.actor
  // If a person's role allows less than before, so does their key.
  if (!present || !coversAll(present.permissions, actor.permissions)) return 0
  return endOfRight(present)
}

/**
 * Asks the service's own provider first. If the provider doesn't know the token, the agent that the request means may
 * accept it.
 */
async function actorOfToken(
  token: string,
  arrived: ArrivedRequest,
  credentials: Credentials,
  named: AgentFinder,
): Promise<Actor | undefined> {
  const { verifyToken, findAgent, mayBeOfAgent, tier } = credentials
  const judged = verifyToken ? await verifyToken(token) : refuse('malformed')
  if (judged.ok) return tokenActor(judged, { project_id: DEFAULT_PROJECT, agent_id: null }, tier)
  throwWhatMayBeHeard(judged, arrived, credentials)

  // If no agent would accept the token, the body isn't read, because strangers must not make us buffer it.
  if (!(await mayBeOfAgent(token))) return undefined
  const ref = arrived.params['agent_id'] ?? (await named.find(arrived))
  if (ref === undefined) return undefined
  const project_id = await projectMeant(arrived, credentials.findProject)
  const agent = project_id === undefined ? undefined : await findAgent(project_id, ref)
  if (project_id === undefined || !agent?.verifyToken) return undefined
  const judgedByAgent = await agent.verifyToken(token)
  if (judgedByAgent.ok) return tokenActor(judgedByAgent, { project_id, agent_id: agent.id }, tier)
  throwWhatMayBeHeard(judgedByAgent, arrived, credentials)
  return undefined
}

function throwWhatMayBeHeard(
  { reason, detail }: RefusedToken,
  { request_id }: ArrivedRequest,
  { log }: Credentials,
): void {
  if (reason === 'forbidden') throw forbidden('This token has none of the scopes that are accepted here.')
  if (reason !== 'unavailable') return
  log.warn({ request_id, detail }, 'the identity provider could not verify a token')
  throw unavailable("The identity provider isn't responding. Try again shortly.", 5_000)
}

/**
 * The actor of a token. An agent's issuer can choose any names for its users, so the actor's ID contains the agent's ID
 * to keep these names apart from others.
 */
function tokenActor(
  grant: TokenGrant,
  { project_id, agent_id }: Pick<Scope, 'project_id' | 'agent_id'>,
  tier: string,
): Actor {
  const { issuer, subject, user_id = null, permissions, expires_at } = grant
  const ofAgent = agent_id === null ? '' : `${agent_id}:`
  const id = `token:${ofAgent}${plainIssuer(issuer)}#${subject}`
  const scope = { project_id, agent_id, user_id }
  // The operator has chosen the service's provider, so a person to whom it grants `manage` can manage every project.
  const isOperator = agent_id === null && user_id === null && covers(permissions, 'manage')
  const reach = isOperator ? 'service' : 'project'
  return { kind: 'token', id, scope, reach, permissions, tier, expires_at }
}

/** Escapes `#`, and a beginning that looks like an agent's ID, so two different actors never get the same ID. */
function plainIssuer(issuer: string): string {
  return issuer.replaceAll(/[%#]/g, encodeURIComponent).replace(/^agt_/, '%61gt_')
}

export function unauthorized(): ApiError {
  return new ApiError('unauthorized', 'Missing or invalid API key. Send it as: Authorization: Bearer <key>', {
    headers: { 'WWW-Authenticate': 'Bearer realm="moorage"' },
  })
}
