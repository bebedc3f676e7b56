import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { parseIfJson } from '../../lib/json.ts'
import { isLoopback } from '../../lib/loopback.ts'
import type { GuardedFetch } from '../outgoing/guarded-client.ts'

/** What a client says about itself, in the document at its ID. */
export type KnownClient = { client_id: string; name: string; host: string; redirect_uris: readonly string[] }

/** Why a client can't be used. The message is shown to people, who may be strangers. The cause is only for the log. */
export class ClientRefusal extends Error {}

const ANSWER_MS = 5_000
/** The draft recommends that documents have at most 5 KB. */
const MAX_BYTES = 16 * 1024
const MAX_URL = 500
const MAX_NAME = 80
const KEPT_MS = 5 * 60_000
const MOST_KEPT = 500

const ClientMetadata = z.looseObject({
  client_id: z.string(),
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string().max(MAX_URL)).min(1).max(50),
  grant_types: z.array(z.string()).optional(),
  response_types: z.array(z.string()).optional(),
  token_endpoint_auth_method: z.string().optional(),
  client_secret: z.never().optional(),
})

/**
 * Clients whose ID is the URL of a document about them (draft-ietf-oauth-client-id-metadata-document). Anyone can write
 * such a document, so all that is known of a client is that it controls the URL.
 */
export class ClientDocuments {
  readonly #fetch: GuardedFetch
  readonly #known: LRUCache<string, { client: KnownClient; until: number }>
  readonly #now: () => number

  constructor({ fetch, now }: { fetch: GuardedFetch; now: () => number }) {
    this.#fetch = fetch
    this.#now = now
    this.#known = new LRUCache({ max: MOST_KEPT })
  }

  /** Throws ClientRefusal. `beforeFetch` is called if the document must be fetched. */
  async find(client_id: string, beforeFetch: () => Promise<void>): Promise<KnownClient> {
    const known = this.#known.get(client_id)
    // The clock may have been set back.
    if (known && known.until > this.#now() && known.until <= this.#now() + KEPT_MS) return known.client
    const url = URL.parse(client_id)
    if (!url || !isClientUrl(client_id, url))
      throw new ClientRefusal('The client_id must be the https URL of a client ID metadata document.')
    await beforeFetch()
    const client = readDocument(await this.#read(url), url)
    this.#known.set(client_id, { client, until: this.#now() + KEPT_MS })
    return client
  }

  async #read(url: URL): Promise<unknown> {
    const limits = { timeout_ms: ANSWER_MS, max_bytes: MAX_BYTES }
    try {
      const response = await this.#fetch(url, {
        headers: { accept: 'application/json' },
        redirect: 'manual',
        ...limits,
      })
      const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(response.headers.get('content-type') ?? '')
      const text = await response.text()
      if (response.status !== 200 || !isJson) throw new Error(`its server replied ${response.status}, or not with JSON`)
      return parseIfJson(text)
    } catch (cause) {
      // A stranger must not learn from the reply what this service can reach.
      throw new ClientRefusal("The application's metadata document can't be read.", { cause })
    }
  }
}

/** The guarded client decides whether plain http is allowed, as it does for tools. */
function isClientUrl(client_id: string, url: URL): boolean {
  const hasCredentials = url.username !== '' || url.password !== ''
  return (
    /^https?:$/.test(url.protocol) &&
    url.href === client_id &&
    client_id.length <= MAX_URL &&
    url.pathname !== '/' &&
    !client_id.includes('#') &&
    !hasCredentials
  )
}

function readDocument(value: unknown, url: URL): KnownClient {
  const document = ClientMetadata.safeParse(value).data
  if (!document) throw new ClientRefusal("The application's metadata document is not valid.")
  const { client_id, client_name = '', redirect_uris, grant_types, response_types } = document
  if (client_id !== url.href)
    throw new ClientRefusal("The application's metadata document belongs to another client_id.")
  const usesCodes = grant_types?.includes('authorization_code') ?? true
  if (!usesCodes || !(response_types?.includes('code') ?? true))
    throw new ClientRefusal('The application must use the authorization code grant.')
  // Everyone can read the document, so no secret in it, or agreed elsewhere, proves anything here.
  if (document.token_endpoint_auth_method?.startsWith('client_secret_'))
    throw new ClientRefusal("The application's metadata document must not ask for a client secret.")
  return { client_id, name: plainName(client_name) || url.host, host: url.host, redirect_uris }
}

/** Without line breaks, control characters and changes of direction, which could imitate the text next to the name. */
function plainName(name: string): string {
  const plain = name.replaceAll(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  return [...plain].slice(0, MAX_NAME).join('')
}

/** Schemes that browsers handle themselves, or that start programs with what a URL says. */
const DANGEROUS_SCHEME =
  /^(?:javascript|data|vbscript|file|blob|about|filesystem|view-source|ftp|wss?|mailto|tel|sms|intent|ms-.*|search-ms|shell|x-apple.*|chrome.*|edge|resource|jar):$/
const ON_THIS_MACHINE = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?(\/[^#]*)?$/

/**
 * Whether the client may receive codes at a URL: one of those in its document, character by character. Only the port of
 * a program on the person's own machine can differ, because the system chooses it (RFC 8252).
 */
export function acceptsRedirect({ redirect_uris }: KnownClient, redirect_uri: string): boolean {
  if (!isSafeRedirect(redirect_uri)) return false
  const local = withoutPort(redirect_uri)
  return redirect_uris.some((known) => known === redirect_uri || (local !== undefined && withoutPort(known) === local))
}

function isSafeRedirect(redirect_uri: string): boolean {
  const url = URL.parse(redirect_uri)
  if (!url || redirect_uri.length > MAX_URL || !/^[\x21-\x7e]+$/.test(redirect_uri)) return false
  if (redirect_uri.includes('#') || redirect_uri.includes('\\') || url.username !== '' || url.password !== '')
    return false
  if (url.protocol === 'http:') return isLoopback(url.hostname) && ON_THIS_MACHINE.test(redirect_uri)
  if (url.protocol === 'https:') return /^https:\/\/[^/]/.test(redirect_uri)
  return !DANGEROUS_SCHEME.test(url.protocol) && redirect_uri.startsWith(`${url.protocol}//`)
}

/** Undefined for a URL that isn't on the person's own machine. */
function withoutPort(redirect_uri: string): string | undefined {
  const parts = ON_THIS_MACHINE.exec(redirect_uri)
  return parts ? `${parts[1]}${parts[2] ?? '/'}` : undefined
}
