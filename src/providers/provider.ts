import { z } from 'zod'
import { conflict, invalid } from '../errors.ts'
import { problemIn } from '../lib/text/plain-issue.ts'
import type { Actor } from '../operation/actor.ts'
import { type Provider, urlOf } from '../runtime/providers/provider-source.ts'
import type { Keyring } from '../security/keyring.ts'
import { checkUrl, type UrlPolicy } from '../security/outgoing/guarded-url.ts'
import { PROVIDER_NAME, ProviderType, Vision } from '../security/provider-name.ts'
import { WebAddress } from '../security/security-settings.ts'
import { ToolSecret } from '../security/tool-secret.ts'
import { Time } from '../shapes.ts'

const MAX_KEY = 8_192

export const ProviderParams = z.strictObject({ name: z.string() })

const Cache = z
  .boolean()
  .describe(
    'With `anthropic`: mark the start of prompts for the provider to cache. Other protocols have no such marks. Set it to `false` if an endpoint refuses `cache_control`',
  )

export const SetProviderBody = z
  .strictObject({
    type: ProviderType.default('openai-compatible').describe('The API protocol'),
    base_url: WebAddress.nullable()
      .describe("The endpoint up to `/v1`; required for `openai-compatible`. null: the vendor's own endpoint")
      .default(null),
    // The key is sent in a header, as a tool's secret is.
    api_key: ToolSecret.shape.value
      .max(MAX_KEY)
      .nullable()
      .optional()
      .describe(
        "The provider's API key, never returned. null: the provider needs no key. If absent, the stored key is kept, unless the origin of `base_url` changes",
      ),
    vision: Vision.nullable()
      .describe(
        'Whether its models accept images: `true`, `false`, or per model name. null: images are sent until a model refuses them',
      )
      .default(null),
    cache: Cache.default(true),
  })
  .refine(({ type, base_url }) => type !== 'openai-compatible' || base_url !== null, {
    path: ['base_url'],
    error: 'is required for openai-compatible providers',
  })
  .meta({ id: 'SetProvider' })

export const ProviderReply = z
  .object({
    name: z.string().describe('The first part of a model name, as in `name/model`'),
    type: ProviderType,
    base_url: z.string().nullable().describe("null: the vendor's own endpoint"),
    has_key: z.boolean(),
    vision: Vision.nullable(),
    cache: Cache,
    source: z.enum(['api', 'configuration']).describe('`configuration`: defined in `moorage.yaml`, and changed there'),
    overridden: z
      .boolean()
      .describe('A provider with this name was also set through the API. The one from `moorage.yaml` is used'),
    created_at: Time.nullable(),
    updated_at: Time.nullable(),
  })
  .meta({ id: 'Provider' })

/** A provider as it is stored: its key is encrypted. */
export type StoredProvider = {
  project_id: string
  name: string
  type: Provider['type']
  base_url: string | null
  api_key: string | null
  vision: Provider['vision'] | null
  cache: boolean
  /** The owner of the API key: the actor who set it. */
  paid_by: Actor['reach']
  created_at: number
  updated_at: number
}

type ProviderRef = Pick<StoredProvider, 'project_id' | 'name'>

/** Project and name are part of the purpose, so that a key copied to another row cannot be opened there. */
export function purposeOf({ project_id, name }: ProviderRef): string {
  return `provider:${project_id}:${name}`
}

export function sealKey(named: ProviderRef, key: string | null, keyring: Keyring): string | null {
  return key === null ? null : keyring.encrypt(key, purposeOf(named))
}

/** A key that is not sent again is kept for the same origin only. Otherwise a new address would receive the old key. */
export function requireKeyAgain(wanted: ProviderAddress, known: StoredProvider | undefined): void {
  if (known === undefined || known.api_key === null || originOf(wanted) === originOf(known)) return
  throw invalid({
    field: 'api_key',
    error: 'is required, because the new base_url has a different origin; send the key again, or null to remove it',
  })
}

type ProviderAddress = Pick<StoredProvider, 'name' | 'type' | 'base_url'>

function originOf({ name, type, base_url }: ProviderAddress): string | undefined {
  return URL.parse(urlOf({ name, type, baseUrl: base_url ?? undefined }) ?? '')?.origin
}

export function openProvider(stored: StoredProvider, keyring: Keyring): Provider {
  const { name, type, base_url, api_key, vision, cache, paid_by } = stored
  return {
    name,
    type,
    cache,
    isGuarded: true,
    ...(paid_by === 'project' && { isOfProject: true }),
    ...(vision !== null && { vision }),
    ...(base_url !== null && { baseUrl: base_url }),
    ...(api_key !== null && { apiKey: keyring.decrypt(api_key, purposeOf(stored)) }),
  }
}

export function presentStored(provider: StoredProvider): z.input<typeof ProviderReply> {
  const { name, type, base_url, api_key, vision = null, cache, created_at, updated_at } = provider
  const has_key = api_key !== null
  return { name, type, base_url, has_key, vision, cache, source: 'api', overridden: false, created_at, updated_at }
}

export function presentConfigured(
  { name, type, baseUrl, apiKey, vision, cache = true }: Provider,
  stored: readonly StoredProvider[],
): z.input<typeof ProviderReply> {
  const overridden = stored.some((known) => known.name === name)
  const has_key = apiKey !== undefined
  const times = { created_at: null, updated_at: null }
  return {
    name,
    type,
    base_url: baseUrl ?? null,
    has_key,
    vision: vision ?? null,
    cache,
    source: 'configuration',
    overridden,
    ...times,
  }
}

export function requireName(name: string): void {
  const problem = problemIn(PROVIDER_NAME, name)
  if (problem !== undefined) throw invalid({ field: 'name', error: problem })
}

/** A provider with the same name in the configuration would win, so setting one here would have no effect. */
export function requireNotConfigured(name: string, configured: readonly Provider[]): void {
  if (!configured.some((provider) => provider.name === name)) return
  throw conflict(`The provider "${name}" is defined in moorage.yaml. Change it there.`)
}

export function requireAddress(base_url: string | null, policy: UrlPolicy): void {
  const problem = base_url === null ? undefined : checkUrl(base_url, policy)
  if (problem) throw invalid({ field: 'base_url', error: problem.message })
}
