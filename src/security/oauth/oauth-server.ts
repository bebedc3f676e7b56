import type { ServerMetadata } from 'openid-client'
import { lazilyInTurn, PARTS_OF_MCP } from '../../lib/lazily.ts'
import type { GuardedFetch } from '../outgoing/guarded-client.ts'
import { OAuthFailure, reasonOf } from './provider-errors.ts'

const mcp = lazilyInTurn<typeof import('@modelcontextprotocol/client')>(...PARTS_OF_MCP, '@modelcontextprotocol/client')

/**
 * How an authorization server is found: by its own metadata, by configured URLs, or through an MCP server that names
 * it.
 */
export type OAuthSource =
  | { kind: 'issuer'; issuer: string }
  | { kind: 'urls'; authorize_url: string; token_url: string; revoke_url: string | null }
  | { kind: 'mcp'; url: string }

/** An authorization server, as it was found. */
export type OAuthServer = {
  metadata: ServerMetadata
  /** Whether the server's issuer is known. Its answers contain the issuer (RFC 9207) if its metadata says so. */
  isNamed: boolean
  /** The resource that its tokens are issued for (RFC 8707). */
  resource: string | undefined
  /** The scopes that the resource asks for if no others are configured. */
  scopes: readonly string[]
  /** The HTTP status of the MCP server's answer to a request without a token. */
  answered?: number
}

const ANSWER_MS = 10_000
const MAX_ANSWER_BYTES = 256 * 1024

/** The guarded client for all calls here, with short time limits and small replies. */
export function boundedFetch(
  fetch: GuardedFetch,
): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  return (url, init = {}) => fetch(url, { ...init, timeout_ms: ANSWER_MS, max_bytes: MAX_ANSWER_BYTES })
}

/** Throws OAuthFailure if there is no server, or it can't be used. */
export async function findOAuthServer(source: OAuthSource, fetch: GuardedFetch): Promise<OAuthServer> {
  if (source.kind === 'urls') return fromUrls(source)
  try {
    return source.kind === 'mcp' ? await ofMcpServer(source.url, fetch) : await ofIssuer(source.issuer, fetch)
  } catch (error) {
    if (error instanceof OAuthFailure) throw error
    throw new OAuthFailure('unavailable', `its settings could not be read: ${reasonOf(error)}`, { cause: error })
  }
}

function fromUrls({ authorize_url, token_url, revoke_url }: Extract<OAuthSource, { kind: 'urls' }>): OAuthServer {
  const metadata = {
    issuer: new URL(token_url).origin,
    authorization_endpoint: authorize_url,
    token_endpoint: token_url,
    // Providers without a published description mostly expect the secret in the body.
    token_endpoint_auth_methods_supported: ['client_secret_post'],
    ...(revoke_url && { revocation_endpoint: revoke_url }),
  }
  return { metadata, isNamed: false, resource: undefined, scopes: [] }
}

async function ofIssuer(issuer: string, fetch: GuardedFetch): Promise<OAuthServer> {
  const { discoverAuthorizationServerMetadata } = await mcp()
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn: boundedFetch(fetch) })
  if (!metadata) throw new OAuthFailure('unusable', `the issuer ${issuer} publishes no metadata`)
  return checked({ metadata: metadata as ServerMetadata, isNamed: true, resource: undefined, scopes: [] })
}

/** Reads the metadata of the MCP server (RFC 9728), and then of its authorization server. */
async function ofMcpServer(url: string, fetch: GuardedFetch): Promise<OAuthServer> {
  const { checkResourceAllowed, discoverAuthorizationServerMetadata, resourceUrlFromServerUrl } = await mcp()
  const bounded = boundedFetch(fetch)
  const { answered, resourceMetadataUrl, scope } = await challengeOf(url, bounded)
  const resourceMetadata = await resourceMetadataOf(url, resourceMetadataUrl, bounded)
  if (!resourceMetadata && isBusy(answered)) throw busy(url, answered)
  const issuer = resourceMetadata?.authorization_servers?.[0] ?? new URL('/', url).href
  const metadata = await discoverAuthorizationServerMetadata(issuer, { fetchFn: bounded })
  if (!metadata) throw new OAuthFailure('unusable', `the MCP server ${new URL(url).host} names no authorization server`)
  const requested = resourceUrlFromServerUrl(url)
  const resource = resourceMetadata?.resource ?? requested.href
  if (!checkResourceAllowed({ requestedResource: requested, configuredResource: resource }))
    throw new OAuthFailure('unusable', `the MCP server ${new URL(url).host} describes another resource than itself`)
  if (!metadata.code_challenge_methods_supported?.includes('S256'))
    throw new OAuthFailure('unusable', `the authorization server ${metadata.issuer} doesn't support PKCE with S256`)
  const scopes = scope?.split(' ').filter(Boolean) ?? resourceMetadata?.scopes_supported ?? []
  return checked({ metadata: metadata as ServerMetadata, isNamed: true, resource, scopes, answered })
}

/**
 * What the MCP server says of itself. Undefined if it has no such document, so that it is its own authorization server.
 * A server that is busy or down may have one, and falling back then would lead to another issuer.
 */
async function resourceMetadataOf(
  url: string,
  resourceMetadataUrl: URL | undefined,
  fetch: ReturnType<typeof boundedFetch>,
) {
  const { discoverOAuthProtectedResourceMetadata } = await mcp()
  // It may be at several addresses. None of them has it only if each of them says so.
  let unclear: unknown
  const answer = async (...asked: Parameters<typeof fetch>) => {
    try {
      const response = await fetch(...asked)
      if (isBusy(response.status)) unclear = busy(url, response.status)
      return response
    } catch (error) {
      unclear = error
      throw error
    }
  }
  try {
    return await discoverOAuthProtectedResourceMetadata(url, resourceMetadataUrl ? { resourceMetadataUrl } : {}, answer)
  } catch (error) {
    if (unclear !== undefined) throw unclear
    if (resourceMetadataUrl) throw error
    return undefined
  }
}

const busy = (url: string, status: number) =>
  new OAuthFailure('unavailable', `the MCP server ${new URL(url).host} answered HTTP ${status}`)

const isBusy = (status: number) => status >= 500 || [408, 425, 429].includes(status)

/** The server's reply to a request without a token. */
async function challengeOf(url: string, fetch: ReturnType<typeof boundedFetch>) {
  const { extractWWWAuthenticateParams } = await mcp()
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
  })
  await response.body?.cancel()
  return { answered: response.status, ...(response.status === 401 && extractWWWAuthenticateParams(response)) }
}

/** Browsers are sent to the authorization endpoint, so its URL must be a web page's. */
function checked(server: OAuthServer): OAuthServer {
  const { authorization_endpoint, token_endpoint, issuer } = server.metadata
  if (!authorization_endpoint || !token_endpoint)
    throw new OAuthFailure('unusable', `the authorization server ${issuer} names no authorization or token endpoint`)
  if (!/^https?:\/\//i.test(authorization_endpoint))
    throw new OAuthFailure('unusable', `the authorization endpoint of ${issuer} is not a web page`)
  return server
}
