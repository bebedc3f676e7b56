import { readFileSync } from 'node:fs'
import { AgentGates, type GateParts } from './access/agent-gates.ts'
import { findSnapshot, findSnapshotIn } from './agents/agent-snapshot.ts'
import * as agents from './agents/store.ts'
import type { FoundAgent, GuardedAgent } from './http/pipeline/request.ts'
import { watchFiles } from './lib/watch-files.ts'
import type { Parts } from './operation/parts.ts'
import { type Gate, gateOf } from './security/gate.ts'
import { hasFormOfJwt } from './security/tokens/bearer-token.ts'
import { tokenVerifier, type VerifyToken } from './security/tokens/token-verifier.ts'

/**
 * Who may come in, as `moorage.yaml` and the agents say. It is worked out once, and again when they or their files
 * change.
 */
export type Access = {
  gate(): Gate
  verifyToken: VerifyToken | undefined
  findAgent(project_id: string, ref: string): Promise<FoundAgent | undefined>
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
  let gate = gateOf(security, readFile)

  const watched = [security.mtls.caCert, server.tls?.clientCaDir].filter((path) => path !== undefined)
  const stopWatching = watchFiles(server.tls?.reload ? watched : [], () => {
    gates.forget()
    try {
      gate = gateOf(security, readFile)
    } catch (err) {
      log.error({ err }, 'the new security.mtls.caCert cannot be used; the old one stays')
    }
  })

  return {
    gate: () => gate,
    // The operator chose this provider, so it may be at any address.
    verifyToken: auth && tokenVerifier(auth, { roles, fetch, now }),
    async findAgent(project_id, ref) {
      const snapshot = await findSnapshotIn(project_id, ref, parts)
      return snapshot && gates.foundOf(snapshot)
    },
    async projectOf(agent_id) {
      return (await findSnapshot(agent_id, parts))?.project.id
    },
    // Answered from memory, because a client that has shown no valid token must not cause a query.
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

/** Which forms of tokens agents accept. A provider is asked about opaque tokens only with a client secret. */
async function loadForms({ storage, keyring }: Pick<Parts, 'storage' | 'keyring'>) {
  const own = await agents.listAuth(storage.db, keyring)
  return { jwt: own.length > 0, opaque: own.some((one) => one?.type === 'oauth2' && one.clientSecret !== undefined) }
}

function readFile(path: string): string {
  return readFileSync(path, 'utf8')
}
