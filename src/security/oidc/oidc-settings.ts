import { z } from 'zod'
import { DURATION_PATTERN, parseDuration } from '../../lib/duration.ts'
import { SecretText, WebAddress } from '../security-settings.ts'

/** Stands for all projects wherever a project is named. */
export const ALL_PROJECTS = '*'

const GroupRole = z.strictObject({
  group: z.string().min(1).describe('Group, as the token names it'),
  project: z.string().min(1).describe('Name or ID of a project. `*` with the role admin: service administrators'),
  role: z.string().min(1).describe('Role'),
})

/** An identity provider with which people sign in to the console. */
export const OidcSettings = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -, starting with a letter')
    .describe("The provider's name, a part of its redirect URI"),
  label: z.string().min(1).max(60).optional().describe('Label of the sign-in button. If not set: the name'),
  issuer: WebAddress.describe('Issuer URL. Everything else is discovered from it'),
  clientId: z.string().min(1).describe('Client ID of this service at the provider'),
  clientSecret: SecretText.optional().describe('Client secret. If not set, the client is public (PKCE only)'),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/))
    .default(['openid', 'profile', 'email'])
    .transform((scopes) => [...new Set(['openid', ...scopes])])
    .describe('Scopes to request. Add `groups` or `offline_access` if the provider requires them'),
  groupsClaim: z
    .string()
    .min(1)
    .default('groups')
    .describe("Claim that contains a person's groups. `realm_access.roles` reads a claim within a claim"),
  roles: z
    .array(GroupRole)
    .default([])
    .describe('Which group has which role in which project. For each project, the first match applies'),
  keepRoles: z
    .string()
    .regex(DURATION_PATTERN, 'must be a duration such as 7d')
    .default('7d')
    .transform(parseDuration)
    .describe("How long a role from a group is kept if the provider can't be asked, or sends no groups"),
  emailDomains: z
    .array(z.string().regex(/^[a-z0-9.-]+$/, 'must be a domain in lowercase'))
    .default([])
    .describe('Email domains whose verified addresses can sign in without an invitation. Empty: all'),
  trustEmail: z
    .boolean()
    .default(false)
    .describe("Treat email addresses as verified even if the provider doesn't say so (Entra ID)"),
  mfa: z
    .strictObject({
      amr: z
        .array(z.string())
        .default(['mfa', 'otp', 'hwk'])
        .describe('Values of `amr`. Any of them means that a second factor was used'),
      acr: z.array(z.string()).default([]).describe('Values of `acr` that mean the same'),
    })
    .prefault({}),
})
export type OidcSettings = z.output<typeof OidcSettings>
