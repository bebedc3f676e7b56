import type { FastifyRequest } from 'fastify'
import type { Actor } from '../../operation/actor.ts'
import type { Operation } from '../../operation.ts'
import type { Cors, Gate } from '../../security/gate.ts'
import type { Decision } from '../../security/limits/rate-limiter.ts'
import type { VerifyToken } from '../../security/tokens/token-verifier.ts'

/** What the pipeline needs to know of an agent before the operation runs. */
export type AgentGate = {
  id: string
  gate: Gate | undefined
  /** Of the agent's own `auth`. */
  verifyToken: VerifyToken | undefined
}

export type GuardedAgent = { id: string; name: string; gate: Gate }

/** One request on its way through the pipeline; each step adds what it found out. */
export type Exchange = {
  readonly request: FastifyRequest
  readonly request_id: string
  readonly started: number
  readonly path: string
  readonly query: string
  /** Undefined on a path that is no operation's. */
  readonly route: Route | undefined
  /** Headers of the reply, whatever it will be. */
  readonly headers: Record<string, string>
  /** The client speaks TLS, to us or to a trusted proxy. */
  readonly secure: boolean
  /** The client's address, seen through trusted proxies. */
  address: string
  actor: Actor | undefined
  /** The limit nearest to its end. */
  rate: Decision | undefined
  agent: AgentGate | undefined
  /** There when a page of a listed origin may read the reply. */
  cors: Cors | undefined
}

/** An operation with what is worked out of its declaration once. */
export type Route = {
  operation: Operation
  readQuery(raw: string): unknown
}

declare module 'fastify' {
  interface FastifyRequest {
    exchange: Exchange
  }
  interface FastifyContextConfig {
    route?: Route
    /** Answers without a key. */
    open?: boolean
    /** Answers whatever the settings say: whoever watches over the service must reach it. */
    probe?: boolean
  }
}
