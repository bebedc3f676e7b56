import type { IncomingHttpHeaders } from 'node:http'
import type { Actor } from '../../operation/actor.ts'
import type { Parts } from '../../operation/parts.ts'
import type { Operation } from '../../operation.ts'
import type { Gate } from '../../security/gate.ts'
import type { TokenRun } from '../../security/run-token.ts'
import type { VerifyToken } from '../../security/tokens/token-verifier.ts'
import type { FindApplication } from './guards/application-token.ts'
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
export type ConnectAttempt = {
  connection_id: string
  link_id: string
  checks: { state: string; verifier: string }
  asked: string[]
}

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

/** What a client has asked for, and its person has allowed. */
export type AllowedRequest = {
  client_id: string
  client_name: string
  redirect_uri: string
  resource: string
  code_challenge: string
  agent_id: string | null
}

export type IssuedTokens = { access_token: string; refresh_token: string; expires_in: number }

/** Why a client gets no tokens. `isUnknown`: this code or token was never issued. */
export type GrantRefusal = { error: string; reason: string; isUnknown: boolean }

/** The request of the browser or the client. */
type RequestOrigin = { request_id: string; address: string }

/** Applications that people connect by signing in. */
export type ConnectedApplications = {
  find: FindApplication
  /** The application of a code or a refresh token, whether or not it can still be exchanged. */
  findBySecret(kind: 'code' | 'refresh', secret: string): Promise<string | undefined>
  /** Returns the code for the client. */
  connect(asked: AllowedRequest, actor: Actor, origin: RequestOrigin): Promise<string>
  exchange(
    asked: {
      code: string
      client_id: string
      redirect_uri: string
      code_verifier: string
      resource: string | undefined
    },
    origin: RequestOrigin,
  ): Promise<IssuedTokens | GrantRefusal>
  refresh(
    asked: { refresh_token: string; client_id: string; resource: string | undefined },
    origin: RequestOrigin,
  ): Promise<IssuedTokens | GrantRefusal>
  revoke(token: string, client_id: string, origin: RequestOrigin): Promise<void>
}

/** A trigger that accepts requests. */
export type OpenInlet = {
  id: string
  agent_id: string
  project_id: string
  /** Throws `unauthorized` if the request isn't proven to be from the trigger's sender. */
  prove(request: { headers: IncomingHttpHeaders; bytes: Buffer }): Promise<{ event: string | undefined }>
  takesMail: boolean
  /** Reads the body of a proven request. If that fails, the request is listed. */
  read<T>(headers: Readonly<Record<string, string>>, read: () => T | Promise<T>): Promise<T>
  /** Starts the run of a proven request with a message. */
  acceptMail(request: {
    request_id: string
    headers: Readonly<Record<string, string>>
    type: string
    bytes: Buffer
    event: string | undefined
  }): Promise<{ status: 200 | 202; body: object }>
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
  /** Undefined unless `mcp.signIn` is set. */
  applications: ConnectedApplications | undefined
  /** The built files of the console and of the chat's page. */
  pagesFolder: string
  /** Undefined if the console is switched off. */
  console: SignedIn | undefined
}
