import type { z } from 'zod'
import type { Config } from '../config.ts'
import { type ErrorDetail, forbidden, invalid } from '../errors.ts'
import { type Actor, requireLasting, requirePermission } from '../operation/actor.ts'
import { readAgentAuthority } from '../security/authority.ts'
import { certificateCheck } from '../security/client-certificate.ts'
import { checkUrl } from '../security/outgoing/guarded-url.ts'
import { policiesOf } from '../security/outgoing/policies.ts'
import { coversAll, Permission } from '../security/permissions.ts'
import type { AuthSettings, SecuritySettings } from '../security/security-settings.ts'
import { isHint } from './agent.ts'

type AccessFields = {
  security?: z.output<typeof SecuritySettings> | null | undefined
  auth?: z.output<typeof AuthSettings> | null | undefined
}

/** Checks what the shapes of `security` and `auth` can't: who sets them, and whether this service can apply them. */
export function checkAccess({ security, auth }: AccessFields, actor: Actor, config: Config): void {
  if (security === undefined && auth === undefined) return
  requirePermission(actor, 'manage')
  if (auth) requireGrantOfTokens(actor)
  const problems = [
    ...(security ? securityProblems(security, config) : []),
    ...(auth ? authProblems(auth, config) : []),
  ]
  if (problems.length > 0) throw invalid(...problems)
}

/**
 * The actor who sets the issuer of tokens decides what the tokens may do and for how long. An actor can't grant more
 * than it has.
 */
function requireGrantOfTokens(actor: Actor): void {
  if (!coversAll(actor.permissions, Permission.options)) {
    throw forbidden(
      'Only a key with all permissions can set `auth`, because the tokens it accepts can have any permission.',
    )
  }
  requireLasting(actor, 'The tokens that `auth` accepts')
  if (actor.expires_at !== null) {
    throw forbidden(
      "Only a key that doesn't expire can set `auth`, because the tokens it accepts would outlive the key.",
    )
  }
}

function securityProblems({ enforceHttps, mtls }: SecuritySettings, { server }: Config): ErrorDetail[] {
  const problems: ErrorDetail[] = []
  const report = (field: string, error: string) => problems.push({ field: `security.${field}`, error })

  if (enforceHttps && !server.tls && server.trustedProxies.length === 0) {
    report('enforceHttps', 'no client could connect, because neither server.tls nor server.trustedProxies is set')
  }
  if (!mtls.enabled) return problems
  if (!server.tls) report('mtls.enabled', 'no client could connect, because server.tls is not set')
  if (mtls.caCert === undefined) report('mtls.caCert', 'is required when mtls is enabled')
  else if (!isAuthority(mtls.caCert, server.tls?.clientCaDir)) {
    report('mtls.caCert', 'must be a CA certificate in PEM format, or the name of a file in server.tls.clientCaDir')
  }
  return problems
}

/** The reply is the same for every unusable file: a client must not learn what else is on the host. */
function isAuthority(caCert: string, directory: string | undefined): boolean {
  try {
    certificateCheck(readAgentAuthority(caCert, directory))
    return true
  } catch {
    return false
  }
}

function authProblems(auth: AuthSettings, config: Config): ErrorDetail[] {
  if (auth.type === 'jwt') return []
  const problem = checkUrl(auth.provider, policiesOf(config).outgoing)
  return [
    ...(problem ? [{ field: 'auth.provider', error: problem.message }] : []),
    ...(isHint(auth.clientSecret ?? '')
      ? [{ field: 'auth.clientSecret', error: 'is the shortened form that replies show; send the secret itself' }]
      : []),
  ]
}
