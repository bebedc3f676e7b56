import type { JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import { parseIfJson } from '../../lib/json.ts'
import { jose, Unavailable } from './bearer-token.ts'

export type ProviderRequest = {
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
  redirect: 'manual'
  signal: AbortSignal
}

export type ProviderFetch = (url: string, init: ProviderRequest) => Promise<Response>

const ProviderMetadata = z.looseObject({
  issuer: z.string(),
  jwks_uri: z.string().optional(),
  introspection_endpoint: z.string().optional(),
  introspection_endpoint_auth_methods_supported: z.array(z.string()).optional(),
})
export type ProviderMetadata = z.infer<typeof ProviderMetadata>

const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) })

export type IdentityProvider = {
  /** Throws Unavailable. */
  metadata(): Promise<ProviderMetadata>
  /** The published key that a token names. Throws Unavailable or jose's JWKSNoMatchingKey. */
  keyFor: JWTVerifyGetKey
}

const ANSWER_TIMEOUT_MS = 5_000
const MAX_ANSWER_BYTES = 256 * 1024

/**
 * What an issuer publishes: its metadata (OpenID Connect Discovery or RFC 8414) and its keys. Both tokens and sign-ins
 * are checked with it. The discovery of jose and openid-client isn't used, because neither keeps the last keys while the
 * issuer is down.
 */
export function identityProvider(options: {
  provider: string
  fetch: ProviderFetch
  now: () => number
}): IdentityProvider {
  const { provider, fetch, now } = options
  const { createLocalJWKSet, errors } = jose()
  const metadata = remoteValue({ now, load: () => discover(fetch, provider) })
  const keys = remoteValue({
    now,
    async load() {
      const uri = (await metadata.get())?.jwks_uri
      if (uri === undefined) throw new Error(metadata.failure() ?? `${provider} publishes no jwks_uri`)
      return createLocalJWKSet(await ask(fetch, uri, KeySet))
    },
  })

  return {
    async metadata() {
      const known = await metadata.get()
      if (!known) throw new Unavailable(metadata.failure())
      return known
    },

    async keyFor(header, token) {
      const set = await keys.get()
      if (!set) throw new Unavailable(keys.failure())
      try {
        return await set(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      }
      const renewed = (await keys.renew()) ?? set
      // An unknown key may be a new one, which can't be known while the host is down.
      if (keys.failure() !== undefined) throw new Unavailable(keys.failure())
      return renewed(header, token)
    },
  }
}

async function discover(fetch: ProviderFetch, provider: string): Promise<ProviderMetadata> {
  const { protocol, origin, pathname } = new URL(provider)
  const path = withoutSlash(pathname)
  const metadata = await ask(fetch, `${origin}${path}/.well-known/openid-configuration`, ProviderMetadata).catch(
    (error) => {
      if (!(error instanceof UnexpectedStatus)) throw error
      return ask(fetch, `${origin}/.well-known/oauth-authorization-server${path}`, ProviderMetadata)
    },
  )
  if (withoutSlash(metadata.issuer) !== withoutSlash(provider)) {
    throw new Error(`${provider} calls itself ${metadata.issuer}; configure the provider with that URL`)
  }
  for (const url of [metadata.jwks_uri, metadata.introspection_endpoint]) {
    // Over plain http, anybody on the way could give us false keys or read our client secret.
    if (url !== undefined && protocol === 'https:' && new URL(url).protocol !== 'https:') {
      throw new Error(`${provider} uses a URL that is not https: ${url}`)
    }
  }
  return metadata
}

/** The host answered with a status other than 200. */
class UnexpectedStatus extends Error {}

export async function ask<T>(
  fetch: ProviderFetch,
  url: string,
  shape: z.ZodType<T>,
  form?: { headers: Record<string, string>; body: string },
): Promise<T> {
  const request: ProviderRequest = {
    method: form ? 'POST' : 'GET',
    headers: { accept: 'application/json', ...form?.headers },
    redirect: 'manual',
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  }
  const response = await fetch(url, form ? { ...request, body: form.body } : request)
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new UnexpectedStatus(`${url} returned ${response.status}`)
  }
  const answer = shape.safeParse(parseIfJson(await readBody(response, url)))
  if (!answer.success) throw new Error(`${url} returned an unexpected answer: ${z.prettifyError(answer.error)}`)
  return answer.data
}

async function readBody(response: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) throw new Error(`${url} returned more than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

export function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}

type RemoteValue<T> = {
  /** Returns the value, after loading or renewing it if necessary. Undefined if there is no usable value. */
  get(): Promise<T | undefined>
  /** Asks again before the value is due, but not within 30 s of the last attempt. */
  renew(): Promise<T | undefined>
  /** Why the last attempt failed, or undefined. */
  failure(): string | undefined
}

const FRESH_MS = 10 * 60_000
const USABLE_MS = 24 * 3_600_000
const PAUSE_MS = 30_000
const EMPTY_HANDED_PAUSE_MS = 5_000

/**
 * A copy of something that another host publishes. While that host is down, the old value is used for up to a day and
 * renewed in the background, so no caller waits for a dead host.
 */
function remoteValue<T>({ load, now }: { load: () => Promise<T>; now: () => number }): RemoteValue<T> {
  let held: { value: T; loaded_at: number } | undefined
  let tried_at = Number.NEGATIVE_INFINITY
  let failure: string | undefined
  let loading: Promise<void> | undefined

  function attempt(): Promise<void> {
    loading ??= run().finally(() => {
      loading = undefined
    })
    return loading
  }

  async function run(): Promise<void> {
    tried_at = now()
    try {
      held = { value: await load(), loaded_at: now() }
      failure = undefined
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error)
    }
  }

  // If the clock was set back, renewals must not stop until it has caught up.
  const since = (time: number) => Math.abs(now() - time)
  const usable = () => (held && since(held.loaded_at) < USABLE_MS ? held.value : undefined)

  return {
    async get() {
      if (held && since(held.loaded_at) < FRESH_MS) return held.value
      const pause = usable() === undefined ? EMPTY_HANDED_PAUSE_MS : PAUSE_MS
      if (!loading && failure !== undefined && since(tried_at) < pause) return usable()
      const attempted = attempt()
      if (usable() === undefined || failure === undefined) await attempted
      return usable()
    },

    async renew() {
      if (loading || since(tried_at) >= PAUSE_MS) await attempt()
      return usable()
    },

    failure: () => failure,
  }
}
