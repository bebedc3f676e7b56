import { readFileSync } from 'node:fs'
import { type Agent, openAuth } from './agents/agent.ts'
import * as agents from './agents/store.ts'
import type { FoundAgent, GuardedAgent } from './http/pipeline/stages.ts'
import { watchFiles } from './lib/watch-files.ts'
import { withValue } from './lib/with-value.ts'
import type { Parts } from './operation/parts.ts'
import { readAgentAuthority } from './security/authority.ts'
import { type Gate, gateOf } from './security/gate.ts'
import type { SecuritySettings } from './security/security-settings.ts'
import { hasFormOfJwt } from './security/tokens/bearer-token.ts'
import { tokenVerifier, type VerifyToken } from './security/tokens/token-verifier.ts'

/**
 * Who may come in, as `moorage.yaml` and the agents say. It is worked out once, and again when they or their files
 * change.
 */
export type Access = {
  gate(): Gate
  verifyToken: VerifyToken | undefined
  findAgent(ref: string): FoundAgent | undefined | Promise<FoundAgent | undefined>
  mayBeOfAgent(token: string): Promise<boolean>
  guardedAgents(): Promise<readonly GuardedAgent[]>
  close(): void
}

export function openAccess(parts: Parts): Access {
  const { config, storage, keyring, fetch: guarded, memo, now, log } = parts
  const { security, auth, roles, server } = config
  let gate = gateOf(security, readFile)

  const verifierOf = agentVerifiers((sealed) => {
    const own = openAuth({ auth: sealed }, keyring)
    return own ? tokenVerifier(own, { roles, fetch: guarded, now }) : undefined
  })
  const readAuthority = (caCert: string) => readAgentAuthority(caCert, server.tls?.clientCaDir)
  // Agents come from one cache. What is worked out from a record is kept as long as that record.
  let gates = new WeakMap<Agent, FoundAgent>()
  let guards = new WeakMap<object, GuardedAgent[]>()
  const gateOfAgent = (agent: Agent | undefined): FoundAgent | undefined => {
    if (!agent) return undefined
    const known = gates.get(agent)
    if (known) return known
    const { id, name, description, security: own } = agent
    const ownGate = own === null ? undefined : workOut(id, own)
    const worked = {
      id,
      name,
      description,
      isCardPublic: own?.publicCard ?? false,
      gate: ownGate,
      verifyToken: verifierOf(agent),
    }
    gates.set(agent, worked)
    return worked
  }
  const guardedAgents = async (): Promise<GuardedAgent[]> => {
    const found = (await memo('agents', '#guarded', () => agents.listGuarded(storage.db))) ?? []
    const known = guards.get(found)
    if (known) return known
    const worked = found.map(({ id, name, security: own }) => ({ id, name, gate: workOut(id, own) }))
    guards.set(found, worked)
    return worked
  }

  /** Which forms of tokens agents accept. A provider is asked about opaque tokens only with a client secret. */
  const loadForms = async () => {
    const own = (await agents.listAuth(storage.db)).map((sealed) => openAuth({ auth: sealed }, keyring))
    return { jwt: own.length > 0, opaque: own.some((one) => one?.type === 'oauth2' && one.clientSecret !== undefined) }
  }

  function workOut(id: string, own: SecuritySettings): Gate {
    try {
      return gateOf(own, readAuthority)
    } catch (err) {
      // The file of its authority is gone or broken. Then nobody gets in.
      log.error({ err, agent: id }, 'an agent cannot be reached: its caCert cannot be used')
      return { ...gateOf({ ...own, mtls: { enabled: false } }, readAuthority), certificate: () => false }
    }
  }

  const watched = [security.mtls.caCert, server.tls?.clientCaDir].filter((path) => path !== undefined)
  const stopWatching = watchFiles(server.tls?.reload ? watched : [], () => {
    gates = new WeakMap()
    guards = new WeakMap()
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
    findAgent: (ref) => withValue(agents.findKnown(ref, parts), gateOfAgent),
    // Answered from memory, because a client that has shown no valid token must not cause a query.
    async mayBeOfAgent(token) {
      const forms = await memo('agents', '#token forms', loadForms)
      return (hasFormOfJwt(token) ? forms?.jwt : forms?.opaque) ?? false
    },
    guardedAgents,
    close: stopWatching,
  }
}

function readFile(path: string): string {
  return readFileSync(path, 'utf8')
}

const MAX_VERIFIERS = 1_000

/** Kept by the sealed `auth`: a change elsewhere must not make every agent load the keys of its provider again. */
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
