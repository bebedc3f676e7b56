import type { IncomingHttpHeaders } from 'node:http'
import type { Parts } from '../../operation/parts.ts'
import type { Operation } from '../../operation.ts'
import type { Gate } from '../../security/gate.ts'
import type { TokenRun } from '../../security/run-token.ts'
import type { VerifyToken } from '../../security/tokens/token-verifier.ts'
import type { KeyCheck } from './guards/authenticate.ts'
import type { ConsoleSessions } from './guards/console-cookie.ts'
import type { ConsoleDoor } from './guards/console-door.ts'
import type { SpendCode } from './guards/require-code.ts'
import type { Links } from './guards/visitor.ts'
import type { Idempotency } from './idempotency/idempotency.ts'
import type { AgentAccess, GuardedAgent } from './request.ts'

/** The console: who is signed in, and who can be. */
export type SignedIn = { sessions: ConsoleSessions; door: ConsoleDoor }

/** What a browser keeps of a user's sign-in while it is at the provider. */
export type ConnectAttempt = { connection_id: string; link_id: string; checks: { state: string; verifier: string } }

/** Where users sign in with the providers of connections. */
export type ConnectDoor = {
  begin(link_id: string, code: string): Promise<{ url: string; attempt: ConnectAttempt }>
  finish(
    connection_id: string,
    attempt: ConnectAttempt,
    callback: URL,
  ): Promise<{ connection: string; status: 'ok' | 'denied'; return_to: string | undefined }>
  describeClient(connection_id: string): Promise<object>
}

/** A trigger that accepts requests. */
export type OpenInlet = {
  id: string
  agent_id: string
  project_id: string
  /** Throws `unauthorized` if the request isn't proven to be from the trigger's sender. */
  prove(request: { headers: IncomingHttpHeaders; bytes: Buffer }): Promise<{ event: string | undefined }>
  /** Starts the run of a proven request. */
  accept(request: {
    request_id: string
    payload: { headers: Readonly<Record<string, string>>; body: unknown }
    text: string
    event: string | undefined
  }): Promise<{ status: 200 | 202; body: object }>
}

/** What the edge needs from the rest of the service. It imports no slice. */
export type Edge = {
  parts: Parts
  operations: readonly Operation[]
  /**
   * What the service requires of every request. It reflects the current content of the files that the settings name.
   */
  service: { readonly gate: Gate }
  keys: KeyCheck
  verifyToken: VerifyToken | undefined
  /** An agent of a project, by ID or name. */
  findAgent(project_id: string, ref: string): Promise<AgentAccess | undefined>
  /** The project to which an agent currently belongs. */
  projectOf(agent_id: string): Promise<string | undefined>
  /** Whether some agent accepts tokens that look like this one. */
  mayBeOfAgent(token: string): Promise<boolean>
  /** The agents that have their own gate. */
  guardedAgents(): Promise<readonly GuardedAgent[]>
  /** The agents of one project that have their own gate. */
  guardedIn(project_id: string): Promise<readonly GuardedAgent[]>
  spendCode: SpendCode
  /** Whether the run that a remote agent's token belongs to is still active. */
  isUnderWay(run: TokenRun): Promise<boolean>
  idempotency: Idempotency
  connect: ConnectDoor
  /** The URLs of triggers. Throws `not_found` for a token that belongs to no enabled trigger. */
  inlet: { find(token: string): Promise<OpenInlet> }
  links: Links
  /** The built files of the console and of the chat's page. */
  pagesFolder: string
  /** Undefined if the console is switched off. */
  console: SignedIn | undefined
}
