import { readFileSync } from 'node:fs'
import { LRUCache } from 'lru-cache'
import { type Agent, openAuth } from './agents/agent.ts'
import { type AgentSnapshot, findSnapshot, findSnapshotIn } from './agents/agent-snapshot.ts'
import * as agents from './agents/store.ts'
import type { AgentAccess, GuardedAgent } from './http/pipeline/request.ts'
import { watchFiles } from './lib/watch-files.ts'
import type { Parts } from './operation/parts.ts'
import { readAgentAuthority } from './security/authority.ts'
import { type Gate, gateOf } from './security/gate.ts'
import type { SecuritySettings } from './security/security-settings.ts'
import { hasFormOfJwt } from './security/tokens/bearer-token.ts'
import { tokenVerifier, type VerifyToken } from './security/tokens/token-verifier.ts'

/**
 * Who may connect, according to `moorage.yaml` and the agents. It is computed once, and again when they or their files
 * change.
 */
export type Access = {
  /** What the service requires of every request, with the current content of the files that its settings name. */
  service: { readonly gate: Gate }
  verifyToken: VerifyToken | undefined
  findAgent(project_id: string, ref: string): Promise<AgentAccess | undefined>
  projectOf(agent_id: string): Promise<string | undefined>
  mayBeOfAgent(token: string): Promise<boolean>
  guardedAgents(): Promise<readonly GuardedAgent[]>
  guardedIn(project_id: string): Promise<readonly GuardedAgent[]>
  close(): void
}

export function openAccess(parts: GateParts & Pick<Parts, 'findProject' | 'memo' | 'storage'>): Access {
  const { config, memo, now, log } = parts
  const { security, auth, roles, server } = config
  const gates = new AgentGates(parts)
  const service = { gate: gateOf(security, readFile) }

  const watched = [security.mtls.caCert, server.tls?.clientCaDir].filter((path) => path !== undefined)
  const stopWatching = watchFiles(server.tls?.reload ? watched : [], () => {
    gates.forget()
    try {
      service.gate = gateOf(security, readFile)
    } catch (err) {
      log.error({ err }, 'the new security.mtls.caCert cannot be used; the old one stays in use')
    }
  })

  return {
    service,
    // The operator chose this provider, so it can have any address.
    verifyToken: auth && tokenVerifier(auth, { roles, fetch, now }),
    async findAgent(project_id, ref) {
      const snapshot = await findSnapshotIn(project_id, ref, parts)
      return snapshot && (gates.found.get(snapshot) ?? gates.find(snapshot))
    },
    async projectOf(agent_id) {
      return (await findSnapshot(agent_id, parts))?.project.id
    },
    // Answered from memory, because a client without a valid token must not cause a query.
    async mayBeOfAgent(token) {
      const forms = await memo('agents', '#token forms', () => loadForms(parts))
      return (hasFormOfJwt(token) ? forms?.jwt : forms?.opaque) ?? false
    },
    async guardedAgents() {
      return gates.guardedOf(await agents.listKnownGuarded(parts)).all
    },
    async guardedIn(project_id) {
      return gates.guardedOf(await agents.listKnownGuarded(parts)).ofProject.get(project_id) ?? []
    },
    close: stopWatching,
  }
}

/** Which forms of tokens agents accept. A provider is only asked about opaque tokens if there is a client secret. */
async function loadForms({ storage, keyring }: Pick<Parts, 'storage' | 'keyring'>) {
  const own = await agents.listAuth(storage.db, keyring)
  return { jwt: own.length > 0, opaque: own.some((one) => one?.type === 'oauth2' && one.clientSecret !== undefined) }
}

function readFile(path: string): string {
  return readFileSync(path, 'utf8')
}

const MAX_VERIFIERS = 1_000

type OwnSecurity = { id: string; project_id: string; name: string; security: SecuritySettings }

type GuardedAgents = { all: readonly GuardedAgent[]; ofProject: ReadonlyMap<string, readonly GuardedAgent[]> }

type GateParts = Pick<Parts, 'config' | 'fetch' | 'keyring' | 'log' | 'now'>

/** The agents' own gates. What is computed from a record is cached as long as that record. */
class AgentGates {
  /** What is known about agents from their snapshots. */
  found = new WeakMap<AgentSnapshot, AgentAccess>()
  readonly #parts: GateParts
  #guarded = new WeakMap<object, GuardedAgents>()
  /** By the encrypted `auth`: a change elsewhere must not make every agent load its provider's keys again. */
  readonly #verifiers = new LRUCache<string, VerifyToken>({ max: MAX_VERIFIERS })

  constructor(parts: GateParts) {
    this.#parts = parts
  }

  find(snapshot: AgentSnapshot): AgentAccess {
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
    this.found.set(snapshot, found)
    return found
  }

  guardedOf(rows: readonly OwnSecurity[]): GuardedAgents {
    const known = this.#guarded.get(rows)
    if (known) return known
    const all = rows.map(({ security: own, ...agent }) => ({ ...agent, gate: this.#gateOf(agent.id, own) }))
    const guarded = { all, ofProject: Map.groupBy(all, ({ project_id }) => project_id) }
    this.#guarded.set(rows, guarded)
    return guarded
  }

  /** The files of their authorities have changed. */
  forget(): void {
    this.found = new WeakMap()
    this.#guarded = new WeakMap()
  }

  #gateOf(id: string, own: SecuritySettings): Gate {
    const { config, log } = this.#parts
    const readAuthority = (caCert: string) => readAgentAuthority(caCert, config.server.tls?.clientCaDir)
    try {
      return gateOf(own, readAuthority)
    } catch (err) {
      // The file of its authority is missing or broken. Then no client gets in.
      log.error({ err, agent: id }, 'an agent cannot be reached: its caCert cannot be read')
      const gate = gateOf({ ...own, mtls: { enabled: false } }, readAuthority)
      const nowhere = { https: false, addresses: undefined, ...gate.connection, certificate: () => false }
      return { ...gate, connection: nowhere }
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
