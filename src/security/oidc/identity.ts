import { z } from 'zod'
import type { OidcSettings } from './oidc-settings.ts'

/** As whom a provider knows a person, and what it says of them. */
export type Identity = {
  issuer: string
  subject: string
  name: string
  email: string | null
  email_verified: boolean
  groups: readonly string[]
  /** Whether a second factor was used. */
  is_strong: boolean
  /** The session of the person at the provider. */
  session: string | null
}

const MOST_GROUPS = 1_000
const MAX_CHARACTERS = 320

const Claims = z.looseObject({
  iss: z.string(),
  sub: z.string().min(1).max(255),
  name: z.string().optional().catch(undefined),
  preferred_username: z.string().optional().catch(undefined),
  email: z.email().max(MAX_CHARACTERS).optional().catch(undefined),
  email_verified: z.union([z.boolean(), z.stringbool()]).optional().catch(undefined),
  amr: z.array(z.string()).optional().catch(undefined),
  acr: z.string().optional().catch(undefined),
  sid: z.string().max(255).optional().catch(undefined),
})

export function readIdentity(claims: object, settings: OidcSettings): Identity {
  const { iss, sub, name, preferred_username, email, email_verified, amr = [], acr = '', sid } = Claims.parse(claims)
  const shown = name ?? preferred_username ?? email ?? sub
  return {
    issuer: iss,
    subject: sub,
    name: shown.slice(0, MAX_CHARACTERS),
    email: email?.toLowerCase() ?? null,
    email_verified: email !== undefined && (email_verified === true || settings.trustEmail),
    groups: groupsIn(claims, settings.groupsClaim),
    is_strong: amr.some((method) => settings.mfa.amr.includes(method)) || settings.mfa.acr.includes(acr),
    session: sid ?? null,
  }
}

/** Whether the claims tell the groups, if only that there are none. */
export function tellsGroups(claims: object, claim: string): boolean {
  return valueOf(claims, claim) !== undefined
}

function groupsIn(claims: object, claim: string): string[] {
  const value = valueOf(claims, claim)
  const groups = Array.isArray(value) ? value : [value]
  return groups.filter((group) => typeof group === 'string').slice(0, MOST_GROUPS)
}

/** A claim by its whole name, which may have dots itself, or else step by step. */
function valueOf(claims: object, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim as keyof typeof claims]
  let value: unknown = claims
  for (const word of claim.split('.')) {
    value = value instanceof Object && Object.hasOwn(value, word) ? value[word as keyof typeof value] : undefined
  }
  return value
}
