import type { Parts } from '../../operation/parts.ts'
import type { Operation } from '../../operation.ts'
import type { Gate } from '../../security/gate.ts'
import type { TokenRun } from '../../security/run-token.ts'
import type { VerifyToken } from '../../security/tokens/token-verifier.ts'
import type { KeyCheck } from './guards/authenticate.ts'
import type { ConsoleSessions } from './guards/console-cookie.ts'
import type { ConsoleDoor } from './guards/console-door.ts'
import type { SpendCode } from './guards/require-code.ts'
import type { Idempotency } from './idempotency/idempotency.ts'
import type { AgentAccess, GuardedAgent } from './request.ts'

/** The console: who is signed in, who can be, and the folder of its files. */
export type SignedIn = { sessions: ConsoleSessions; door: ConsoleDoor; folder: string }

/** What the edge gets from the rest of the service, so that it knows no slice. */
export type Edge = {
  parts: Parts
  operations: readonly Operation[]
  /** What the service requires of every request, with the current content of the files that its settings name. */
  service: { readonly gate: Gate }
  keys: KeyCheck
  verifyToken: VerifyToken | undefined
  /** An agent of a project, by ID or name. */
  findAgent(project_id: string, ref: string): Promise<AgentAccess | undefined>
  /** The project that an agent is in now. */
  projectOf(agent_id: string): Promise<string | undefined>
  /** Whether some agent accepts tokens of this form. */
  mayBeOfAgent(token: string): Promise<boolean>
  /** The agents that have their own gate. */
  guardedAgents(): Promise<readonly GuardedAgent[]>
  /** Those of one project. */
  guardedIn(project_id: string): Promise<readonly GuardedAgent[]>
  spendCode: SpendCode
  /** Whether the run of a remote agent's token continues. */
  isUnderWay(run: TokenRun): Promise<boolean>
  idempotency: Idempotency
  /** Undefined if it is switched off. */
  console: SignedIn | undefined
}
