import { LRUCache } from 'lru-cache'
import { type Agent, openAuth } from '../agents/agent.ts'
import type { AgentSnapshot } from '../agents/agent-snapshot.ts'
import type { FoundAgent, GuardedAgent } from '../http/pipeline/request.ts'
import type { Parts } from '../operation/parts.ts'
import { readAgentAuthority } from '../security/authority.ts'
import { type Gate, gateOf } from '../security/gate.ts'
import type { SecuritySettings } from '../security/security-settings.ts'
import { tokenVerifier, type VerifyToken } from '../security/tokens/token-verifier.ts'

const MAX_VERIFIERS = 1_000

type OwnSecurity = { id: string; project_id: string; name: string; security: SecuritySettings }

type GuardedAgents = { all: readonly GuardedAgent[]; ofProject: ReadonlyMap<string, readonly GuardedAgent[]> }

export type GateParts = Pick<Parts, 'config' | 'fetch' | 'keyring' | 'log' | 'now'>

/** The gates that agents have of their own. What is worked out from a record is kept as long as that record. */
export class AgentGates {
  readonly #parts: GateParts
  #found = new WeakMap<AgentSnapshot, FoundAgent>()
  #guarded = new WeakMap<object, GuardedAgents>()
  /** By the sealed `auth`: a change elsewhere must not make every agent load the keys of its provider again. */
  readonly #verifiers = new LRUCache<string, VerifyToken>({ max: MAX_VERIFIERS })

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  foundOf(snapshot: AgentSnapshot): FoundAgent {
    const known = this.#found.get(snapshot)
    if (known) return known
    const { agent, project } = snapshot
    const { id, name, description, security: own } = agent
    const found = {
      id,
      name,
      description,
      isCardPublic: own?.publicCard ?? false,
      gate: own === null ? undefined : this.#gateOf(id, own),
      verifyToken: this.#verifierOf(agent),
      project,
      snapshot,
    }
    this.#found.set(snapshot, found)
    return found
  }

  guardedOf(agents: readonly OwnSecurity[]): GuardedAgents {
    const known = this.#guarded.get(agents)
    if (known) return known
    const all = agents.map(({ security: own, ...agent }) => ({ ...agent, gate: this.#gateOf(agent.id, own) }))
    const guarded = { all, ofProject: Map.groupBy(all, ({ project_id }) => project_id) }
    this.#guarded.set(agents, guarded)
    return guarded
  }

  /** The files of their authorities have changed. */
  forget(): void {
    this.#found = new WeakMap()
    this.#guarded = new WeakMap()
  }

  #gateOf(id: string, own: SecuritySettings): Gate {
    const { config, log } = this.#parts
    const readAuthority = (caCert: string) => readAgentAuthority(caCert, config.server.tls?.clientCaDir)
    try {
      return gateOf(own, readAuthority)
    } catch (err) {
      // The file of its authority is gone or broken. Then no client gets in.
      log.error({ err, agent: id }, 'an agent cannot be reached: its caCert cannot be used')
      return { ...gateOf({ ...own, mtls: { enabled: false } }, readAuthority), certificate: () => false }
    }
  }

  #verifierOf({ id, auth }: Agent): VerifyToken | undefined {
    if (auth === null) return undefined
    const known = this.#verifiers.get(auth)
    if (known) return known
    const { config, keyring, fetch, now } = this.#parts
    const own = openAuth({ id, auth }, keyring)
    const verify = own ? tokenVerifier(own, { roles: config.roles, fetch, now }) : undefined
    this.#verifiers.set(auth, verify)
    return verify
  }
}
