import { z } from 'zod'
import type { OidcSettings } from './oidc-settings.ts'

/** A person's identity at a provider, and what the provider says about them. Undefined if the provider doesn't say. */
export type Identity = {
  issuer: string
  subject: string
  name: string | undefined
  address: EmailAddress | undefined
  groups: readonly string[] | undefined
  /** Whether a second factor was used. */
  is_strong: boolean
  /** The person's session at the provider. */
  session: string | null
}

type EmailAddress = { email: string; isVerified: boolean }

const MOST_GROUPS = 1_000
const MAX_CHARACTERS = 320

const Claims = z.looseObject({
  name: z.string().optional().catch(undefined),
  preferred_username: z.string().optional().catch(undefined),
  email: z.email().max(MAX_CHARACTERS).toLowerCase().optional().catch(undefined),
  email_verified: z.union([z.boolean(), z.stringbool()]).optional().catch(undefined),
  amr: z.array(z.string()).optional().catch(undefined),
  acr: z.string().optional().catch(undefined),
  sid: z.string().max(255).optional().catch(undefined),
})

/**
 * Reads the identity from the ID token and, if present, the reply of UserInfo. The first of them that contains a claim
 * decides. An email address is treated as verified only if the document that says so contains the same address.
 */
export function readIdentity(
  documents: readonly object[],
  who: Pick<Identity, 'issuer' | 'subject'>,
  { groupsClaim, mfa, trustEmail }: OidcSettings,
): Identity {
  const said = documents.map((document) => ({ ...Claims.parse(document), groups: groupsIn(document, groupsClaim) }))
  const first = <Value>(read: (claims: (typeof said)[number]) => Value | undefined) =>
    said.map(read).find((value) => value !== undefined)
  const email = first((claims) => claims.email)
  const isVerified = said.some((claims) => claims.email === email && claims.email_verified === true)
  const amr = first((claims) => claims.amr) ?? []
  return {
    ...who,
    name: first(({ name, preferred_username }) => name ?? preferred_username)?.slice(0, MAX_CHARACTERS),
    address: email === undefined ? undefined : { email, isVerified: isVerified || trustEmail },
    groups: first(({ groups }) => groups),
    is_strong: amr.some((method) => mfa.amr.includes(method)) || mfa.acr.includes(first(({ acr }) => acr) ?? ''),
    session: first(({ sid }) => sid) ?? null,
  }
}

function groupsIn(document: object, claim: string): string[] | undefined {
  const value = valueOf(document, claim)
  if (value === undefined) return undefined
  const groups = Array.isArray(value) ? value : [value]
  return groups.filter((group) => typeof group === 'string').slice(0, MOST_GROUPS)
}

/** A claim by its whole name, which may contain dots itself, or else step by step. */
function valueOf(claims: object, claim: string): unknown {
  if (Object.hasOwn(claims, claim)) return claims[claim as keyof typeof claims]
  let value: unknown = claims
  for (const word of claim.split('.')) {
    value = value instanceof Object && Object.hasOwn(value, word) ? value[word as keyof typeof value] : undefined
  }
  return value
}
