import { z } from 'zod'
import { DURATION_PATTERN, parseDuration } from '../lib/duration.ts'
import { NOT_ONE_LINE, ONE_LINE } from '../lib/text/text.ts'
import { parseRange } from './outgoing/ip-address.ts'
import { Permission } from './permissions.ts'

// The service and agents share these shapes, and agents are returned as they were sent, so nothing here is transformed.

export const AddressRange = z
  .string()
  .refine((text) => parseRange(text) !== undefined, 'must be an IP address or a CIDR range such as 10.0.0.0/8')

export const WebAddress = z.string().refine(isWebAddress, 'must be an http(s) URL without user name, query or fragment')

export const SecretText = z.string().min(1).meta({ writeOnly: true })

/** A name that another party has chosen. It is compared exactly. */
const Name = z.string().min(1).regex(ONE_LINE, NOT_ONE_LINE)
/** A file on the client's side. The service never opens it and stores no key. */
const FileName = z.string().min(1).max(4096).regex(ONE_LINE, "must be a file name, not the file's content")
/** A file, or its text. */
const Pem = z.string().min(1).max(65_536)
const MAX_ADDRESSES = 1_000
const MAX_ORIGINS = 100
const MAX_CALLERS = 100

/** An origin as browsers write it: without a path, a default port or capital letters. */
export const Origin = z.string().refine(isOrigin, 'must be an exact origin such as https://app.example.com')

const Window = z
  .string('must be a duration such as 1m')
  .regex(DURATION_PATTERN, 'must be a duration such as 1m')
  .refine(isWindow, 'must be between 1s and 1d')

const ProtectedName = z.enum([
  'delete',
  'update',
  'deploy',
  'rollback',
  'clear_memory',
  'webhooks',
  'keys',
  'secrets',
  'approve',
  'invoke',
])
export type ProtectedName = z.output<typeof ProtectedName>

export const SecuritySettings = z.strictObject({
  ipWhitelist: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Refuse IP addresses that are not listed'),
      addresses: z
        .array(AddressRange)
        .max(MAX_ADDRESSES)
        .default([])
        .describe('IP addresses and CIDR ranges; an empty list refuses every client'),
    })
    .prefault({}),
  mtls: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Require a client certificate in addition to the key'),
      clientCert: FileName.optional().describe(
        'PEM file: certificate for clients on this machine. The service only checks that it matches its key',
      ),
      clientKey: FileName.optional().describe('PEM file: key of that certificate'),
      caCert: Pem.optional().describe('PEM file: authority that signs client certificates'),
    })
    .prefault({}),
  enforceHttps: z.boolean().default(false).describe('Refuse plain HTTP with 403. The service never redirects'),
  hsts: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Send `Strict-Transport-Security` on TLS replies'),
      maxAge: z.int().min(0).default(31_536_000).describe('Its `max-age`, in seconds'),
    })
    .prefault({}),
  rateLimit: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Limit requests in addition to the tiers'),
      requests: z.int().min(1).default(60).describe('Requests allowed per window'),
      window: Window.default('1m').describe('Length of the window, 1s to 1d'),
    })
    .prefault({}),
  mfa: z
    .strictObject({
      enabled: z.boolean().default(false).describe('Require a one-time code'),
      requiredFor: z
        .array(ProtectedName)
        .default(['delete', 'update'])
        .describe(`Operations that require the code: ${ProtectedName.options.join(', ')}`),
    })
    .prefault({}),
  cors: z
    .strictObject({
      origins: z
        .array(Origin)
        .max(MAX_ORIGINS)
        .describe('Origins whose web pages can call the API, exactly as browsers send them. None by default'),
      maxAge: z
        .int()
        .min(0)
        .max(86_400)
        .default(600)
        .describe('How long browsers can cache the reply to a preflight request, in seconds'),
    })
    .optional(),
})
export type SecuritySettings = z.output<typeof SecuritySettings>

/** An agent's settings: the same as the service's, and those that only agents have. */
export const AgentSecurity = SecuritySettings.extend({
  publicCard: z.boolean().default(false).describe("Show the agent's A2A card to everybody, without a key"),
  callers: z
    .array(Name.max(100))
    .max(MAX_CALLERS)
    .optional()
    .describe(
      'The agents (IDs or names) that can call this agent as a tool. Default: every agent, unless `security` requires an address, a certificate, HTTPS or a one-time code from callers: then none',
    ),
})
export type AgentSecurity = z.output<typeof AgentSecurity>

/** Whether another agent can call this one as a tool. A call by an agent has no connection that could pass the gate. */
export function admitsCaller(own: AgentSecurity, caller: { id: string; name: string }): boolean {
  const { callers, ipWhitelist, mtls, enforceHttps, mfa } = own
  if (callers) return callers.includes(caller.id) || callers.includes(caller.name)
  const asksForCode = mfa.enabled && mfa.requiredFor.includes('invoke')
  return !ipWhitelist.enabled && !mtls.enabled && !enforceHttps && !asksForCode
}

const OAuth2 = z
  .strictObject({
    type: z.literal('oauth2').describe('How bearer tokens other than API keys are verified: `oauth2` or `jwt`'),
    provider: WebAddress.describe('oauth2: issuer URL'),
    clientId: Name.describe('oauth2: client ID that tokens are issued for'),
    clientSecret: SecretText.optional().describe('oauth2: client secret, for introspection'),
    scopes: z
      .array(Name)
      .refine((scopes) => Permission.options.some((name) => scopes.includes(`${name}:agents`)), {
        error: `must contain one of ${Permission.options.map((name) => `${name}:agents`).join(', ')}`,
      })
      .optional()
      .describe(
        'oauth2: list of scopes. Of the agent scopes, only those in the list are accepted (if not set: all of them). Every token must have all other scopes in the list',
      ),
    introspection: z
      .enum(['opaque', 'always'])
      .optional()
      .describe('oauth2: which tokens are checked at the provider (RFC 7662): only `opaque` tokens, or `always`'),
  })
  .refine(({ introspection, clientSecret }) => introspection === undefined || clientSecret !== undefined, {
    path: ['clientSecret'],
    error: 'is required for introspection',
    when: () => true,
  })

const Jwt = z.strictObject({
  type: z.literal('jwt'),
  secret: SecretText.refine((text) => Buffer.byteLength(text) >= 32, 'must be at least 32 bytes for HS256').describe(
    'jwt: HS256 secret of at least 32 bytes',
  ),
  issuer: Name.optional().describe('jwt: required `iss` claim'),
  audience: Name.optional().describe('jwt: required `aud` claim'),
})

export const AuthSettings = z.discriminatedUnion('type', [OAuth2, Jwt])
export type AuthSettings = z.output<typeof AuthSettings>

function isWebAddress(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return false
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
}

export function isOrigin(text: string): boolean {
  // URLs can have these characters in a host, and in a Content-Security-Policy they would end the list of origins.
  return /^https?:[^*;,]+$/.test(text) && URL.parse(text)?.origin === text
}

/** Texts that aren't durations are reported by the pattern. */
function isWindow(text: string): boolean {
  if (!DURATION_PATTERN.test(text)) return true
  const length = parseDuration(text)
  return length >= parseDuration('1s') && length <= parseDuration('1d')
}
