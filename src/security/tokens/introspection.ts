import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { sha256 } from '../digest.ts'
import { Unavailable } from './bearer-token.ts'
import { ask, type IdentityProvider, type ProviderFetch } from './identity-provider.ts'

const Answer = z.looseObject({ active: z.boolean(), exp: z.number().optional() })
export type IntrospectionAnswer = z.infer<typeof Answer>

/** Throws Unavailable. */
export type Introspect = (token: string) => Promise<IntrospectionAnswer>

const REMEMBERED_MS = 15_000
const MAX_REMEMBERED = 2_000

/**
 * Implements RFC 7662. It is one request, so a service that signs no people in needn't load openid-client. Answers are cached for at most 15 s and never beyond the token's expiry, so a revocation may be
 * noticed that late. Inactive tokens are cached separately, so a flood of them can't displace the valid ones.
 */
export function introspector(options: {
  provider: IdentityProvider
  clientId: string
  clientSecret: string
  fetch: ProviderFetch
  now: () => number
}): Introspect {
  const { provider, clientId, clientSecret, fetch, now } = options
  const active = rememberedAnswers(now)
  const inactive = rememberedAnswers(now)
  const asking = new Map<string, Promise<IntrospectionAnswer>>()

  async function askProvider(token: string): Promise<IntrospectionAnswer> {
    const metadata = await provider.metadata()
    const url = metadata.introspection_endpoint
    if (url === undefined) throw new Unavailable(`${metadata.issuer} publishes no introspection_endpoint`)
    const form = new URLSearchParams({ token, token_type_hint: 'access_token' })
    const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' }
    const methods = metadata.introspection_endpoint_auth_methods_supported
    if (methods?.includes('client_secret_post') && !methods.includes('client_secret_basic')) {
      form.set('client_id', clientId)
      form.set('client_secret', clientSecret)
    } else {
      headers.authorization = basic(clientId, clientSecret)
    }
    return ask(fetch, url, Answer, { headers, body: form.toString() })
  }

  async function askAndRemember(token: string, digest: string): Promise<IntrospectionAnswer> {
    try {
      const answer = await askProvider(token)
      const until = Math.min(now() + REMEMBERED_MS, (answer.exp ?? Number.POSITIVE_INFINITY) * 1000)
      const memory = answer.active ? active : inactive
      memory.set(digest, answer, until)
      return answer
    } catch (error) {
      throw new Unavailable(error instanceof Error ? error.message : String(error))
    } finally {
      asking.delete(digest)
    }
  }

  return async (token) => {
    const digest = sha256(token)
    const known = active.get(digest) ?? inactive.get(digest)
    if (known) return known
    const pending = asking.get(digest) ?? askAndRemember(token, digest)
    asking.set(digest, pending)
    return pending
  }
}

function rememberedAnswers(now: () => number) {
  const answers = new LRUCache<string, { answer: IntrospectionAnswer; until: number }>({ max: MAX_REMEMBERED })
  return {
    get(digest: string): IntrospectionAnswer | undefined {
      const entry = answers.get(digest)
      return entry && now() < entry.until ? entry.answer : undefined
    },
    set(digest: string, answer: IntrospectionAnswer, until: number): void {
      answers.set(digest, { answer, until })
    },
  }
}

/** RFC 6749, section 2.3.1: both parts are form-encoded first. */
function basic(clientId: string, clientSecret: string): string {
  const [user, password] = [clientId, clientSecret].map((part) => new URLSearchParams({ '': part }).toString().slice(1))
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}
