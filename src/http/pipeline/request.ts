import type { IncomingMessage } from 'node:http'
import type { Actor } from '../../operation/actor.ts'
import type { ProjectSnapshot } from '../../operation/project-snapshot.ts'
import type { Operation } from '../../operation.ts'
import type { Cors, Gate } from '../../security/gate.ts'
import type { Decision } from '../../security/limits/rate-limiter.ts'
import type { VerifyToken } from '../../security/tokens/token-verifier.ts'
import type { Span } from '../../telemetry/tracing.ts'
import type { Dialect, NamedAgent, Route, Visitor } from '../dialects/dialect.ts'

/** What the pipeline needs to know about an agent before the operation runs. */
export type AgentAccess = NamedAgent & {
  gate: Gate | undefined
  /** Checks tokens against the agent's own `auth`. */
  verifyToken: VerifyToken | undefined
  project: ProjectSnapshot
  /** The object from which all of this was read. The memo says whether it is still current. */
  snapshot: object
}

export type GuardedAgent = { id: string; project_id: string; name: string; gate: Gate }

/** The values of the parameters in the path, by name. */
export type PathParams = Readonly<Record<string, string>>

/** A request that has arrived. Nothing in it has been verified yet. */
export type ArrivedRequest = {
  readonly message: IncomingMessage
  readonly dialect: Dialect
  /** Undefined if no dialect has this path. */
  readonly route: Route | undefined
  readonly params: PathParams
  readonly request_id: string
  readonly started: number
  readonly path: string
  readonly query: string
  /** The headers of every reply to this request. */
  readonly headers: Record<string, string>
  /** Whether the client uses TLS, to us or to a trusted proxy. */
  readonly secure: boolean
  /** The client's IP address, as reported by trusted proxies. */
  address: string
  /** The rate limit that has the least left. */
  rate: Decision | undefined
  /** The key in the request, if there is one. */
  key: SentKey | undefined
  /** The bytes of the body, if they were needed before the request was authorised. */
  bytes: Promise<Buffer | undefined> | undefined
  /** Set if a page of a listed origin may read the reply. */
  cors: Cors | undefined
  /** Who chats, if the request came through a link. */
  visitor: Visitor | undefined
  /** What is logged and audited about the request, no matter how far it gets. */
  readonly trace: {
    actor: Actor | null
    agent_id: string | null
    /** What was requested, on a path without an operation. */
    action?: string
  }
  /** The request's span, if the operator has configured a trace collector. */
  readonly span: Span | undefined
}

/** A key's hash, and what was found for it. */
export type SentKey = { readonly hash: string; verified?: VerifiedKey | undefined }

/** A key in the cache, and how long it is valid. */
export type VerifiedKey = { readonly actor: Actor; readonly until: number }

/** A request whose actor is known. */
export type IdentifiedRequest = {
  readonly arrived: ArrivedRequest
  readonly actor: Actor
  /** The agent that the path or the call names, once it has been looked up. */
  readonly agent?: AgentAccess | undefined
}

/** An authorised call: the actor can use this operation on this agent. A request can contain several. */
export type AuthorizedCall = {
  readonly arrived: ArrivedRequest
  readonly actor: Actor
  readonly operation: Operation
  /** `agent_id` is always the ID, even if the client sent the agent's name. */
  readonly params: PathParams
  /** The agent that the path or the call names. */
  readonly agent: AgentAccess | undefined
}
