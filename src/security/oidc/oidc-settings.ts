import { z } from 'zod'
import { DURATION_PATTERN, parseDuration } from '../../lib/duration.ts'
import { SecretText, WebAddress } from '../security-settings.ts'

/** Stands for all projects where a project is named. */
export const ALL_PROJECTS = '*'

const GroupRole = z.strictObject({
  group: z.string().min(1).describe('A group, as the token names it'),
  project: z
    .string()
    .min(1)
    .describe('Name or id of a project; `*` with the role admin: administrators of the service'),
  role: z.string().min(1).describe('A role of the configuration'),
})

/** One identity provider with which people sign in to the console. */
export const OidcSettings = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -, starting with a letter')
    .describe('Name of the provider, part of its redirect URI'),
  label: z.string().min(1).max(60).optional().describe('What the sign-in button says; the name when absent'),
  issuer: WebAddress.describe('Issuer URL, from which everything else is discovered'),
  clientId: z.string().min(1).describe('The client id that the provider knows this service by'),
  clientSecret: SecretText.optional().describe('The client secret; without it the client is public (PKCE alone)'),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/))
    .default(['openid', 'profile', 'email'])
    .transform((scopes) => [...new Set(['openid', ...scopes])])
    .describe('Scopes to ask for; add `groups` or `offline_access` where the provider wants them'),
  groupsClaim: z
    .string()
    .min(1)
    .default('groups')
    .describe('The claim that has the groups of a person; `realm_access.roles` reads a claim within a claim'),
  roles: z
    .array(GroupRole)
    .default([])
    .describe('Which group has which role in which project; the first that matches counts'),
  keepRoles: z
    .string()
    .regex(DURATION_PATTERN, 'must be a duration such as 7d')
    .default('7d')
    .transform(parseDuration)
    .describe('How long a group gives its role when the provider cannot be asked, or says nothing of groups'),
  emailDomains: z
    .array(z.string().regex(/^[a-z0-9.-]+$/, 'must be a domain in lower case'))
    .default([])
    .describe('Domains of the verified addresses that may sign in without an invitation; empty: all'),
  trustEmail: z
    .boolean()
    .default(false)
    .describe('Take addresses as verified although the provider does not say so (Entra ID)'),
  mfa: z
    .strictObject({
      amr: z
        .array(z.string())
        .default(['mfa', 'otp', 'hwk'])
        .describe('Values of `amr`, one of which tells that a second factor was used'),
      acr: z.array(z.string()).default([]).describe('Values of `acr` that tell it'),
    })
    .prefault({}),
})
export type OidcSettings = z.output<typeof OidcSettings>
