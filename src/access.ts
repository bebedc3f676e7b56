import { readFileSync } from 'node:fs'
import { type Agent, openAuth } from './agents/agent.ts'
import * as agents from './agents/store.ts'
import type { AgentGate, GuardedAgent } from './http/pipeline/exchange.ts'
import { cache } from './lib/cache.ts'
import { watchFiles } from './lib/watch-files.ts'
import type { Parts } from './operation/parts.ts'
import { readAgentAuthority } from './security/authority.ts'
import { type Gate, gateOf } from './security/gate.ts'
import type { SecuritySettings } from './security/security-settings.ts'
import { tokenVerifier, type VerifyToken } from './security/tokens/token-verifier.ts'

/** Who may come in, as `moorage.yaml` and each agent say: worked out once, and again when they or their files change. */
export type Access = {
  gate(): Gate
  verifyToken: VerifyToken | undefined
  findAgent(ref: string): AgentGate | undefined | Promise<AgentGate | undefined>
  guardedAgents(): Promise<readonly GuardedAgent[]>
  close(): void
}

export function openAccess({ config, storage, keyring, fetch: guarded, now, log }: Parts): Access {
  const { security, auth, roles, server } = config
  let gate = gateOf(security, readFile)

  const verifierOf = agentVerifiers((sealed) => {
    const own = openAuth({ auth: sealed }, keyring)
    return own ? tokenVerifier(own, { roles, fetch: guarded, now }) : undefined
  })
  const readAuthority = (caCert: string) => readAgentAuthority(caCert, server.tls?.clientCaDir)
  const byRef = cache<AgentGate>(storage.hears)
  const load = async (ref: string): Promise<AgentGate | undefined> => {
    const agent = await agents.find(storage.db, ref)
    if (!agent) return undefined
    const { id, security: own } = agent
    return { id, gate: own === null ? undefined : gateOfAgent(id, own), verifyToken: verifierOf(agent) }
  }
  const guards = cache<GuardedAgent[]>(storage.hears)
  const loadGuarded = async (): Promise<GuardedAgent[]> => {
    const found = await agents.listGuarded(storage.db)
    return found.map(({ id, name, security: own }) => ({ id, name, gate: gateOfAgent(id, own) }))
  }
  const forget = () => {
    byRef.clear()
    guards.clear()
  }
  storage.onChange((change) => change === 'agents' && forget())

  function gateOfAgent(id: string, own: SecuritySettings): Gate {
    try {
      return gateOf(own, readAuthority)
    } catch (err) {
      // Its authority's file is gone or broken: then nobody gets in, rather than everybody.
      log.error({ err, agent: id }, 'an agent cannot be reached: its caCert cannot be used')
      return { ...gateOf({ ...own, mtls: { enabled: false } }, readAuthority), certificate: () => false }
    }
  }

  const watched = [security.mtls.caCert, server.tls?.clientCaDir].filter((path) => path !== undefined)
  const stopWatching = watchFiles(server.tls?.reload ? watched : [], () => {
    forget()
    try {
      gate = gateOf(security, readFile)
    } catch (err) {
      log.error({ err }, 'the new security.mtls.caCert cannot be used; the old one stays')
    }
  })

  return {
    gate: () => gate,
    // The operator chose this provider, wherever it is.
    verifyToken: auth && tokenVerifier(auth, { roles, fetch, now }),
    findAgent: (ref) => byRef.get(ref, load),
    guardedAgents: async () => (await guards.get('all', loadGuarded)) ?? [],
    close: stopWatching,
  }
}

function readFile(path: string): string {
  return readFileSync(path, 'utf8')
}

const MAX_VERIFIERS = 1_000

/** By the sealed `auth`: a change elsewhere must not make every agent ask its provider for its keys again. */
function agentVerifiers(build: (sealed: string) => VerifyToken | undefined) {
  const verifiers = new Map<string, VerifyToken | undefined>()
  return ({ auth }: Agent): VerifyToken | undefined => {
    if (auth === null) return undefined
    const known = verifiers.get(auth)
    if (known) return known
    const verify = build(auth)
    if (verifiers.size >= MAX_VERIFIERS) verifiers.delete(verifiers.keys().next().value as string)
    verifiers.set(auth, verify)
    return verify
  }
}
