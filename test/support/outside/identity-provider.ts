import type { IncomingMessage, ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { readBody, startLocalServer } from './local-server.ts'

export type SigningKey = { alg: string; privateKey: CryptoKey; jwk: JWK }

export type IdentityProviderServer = {
  issuer: string
  metadata: Record<string, unknown>
  /** Requests seen so far, by path. */
  seen: Record<string, number>
  /** The form and the Authorization header of each introspection request. */
  introspected: { form: URLSearchParams; authorization: string | undefined }[]
  /** The published keys. */
  keys: JWK[]
  /** What introspection answers about a token. All other tokens are inactive. */
  opaque: Map<string, Record<string, unknown>>
  /** Replaces the answer of a path. */
  answers: Map<string, (response: ServerResponse) => void>
  /** Closes the connection of every request. */
  down: boolean
  close(): Promise<void>
}

/** A small identity provider: discovery, keys and introspection. Tests change its fields as they run. */
export async function startIdentityProvider(path = ''): Promise<IdentityProviderServer> {
  const server = await startLocalServer((request, response) => void answer(request, response))
  const issuer = server.url + path
  const provider: IdentityProviderServer = {
    issuer,
    metadata: { issuer, jwks_uri: `${server.url}/keys`, introspection_endpoint: `${server.url}/introspect` },
    seen: {},
    introspected: [],
    keys: [],
    opaque: new Map(),
    answers: new Map(),
    down: false,
    close: server.close,
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? ''
    provider.seen[url] = (provider.seen[url] ?? 0) + 1
    if (provider.down) return void request.socket.destroy()
    const replaced = provider.answers.get(url)
    if (replaced) return replaced(response)
    if (url === `${path}/.well-known/openid-configuration`) return send(response, provider.metadata)
    if (url === '/keys') return send(response, { keys: provider.keys })
    if (url === '/introspect' && request.method === 'POST') {
      const form = new URLSearchParams(await readBody(request))
      provider.introspected.push({ form, authorization: request.headers.authorization })
      return send(response, provider.opaque.get(form.get('token') ?? '') ?? { active: false })
    }
    response.writeHead(404).end()
  }

  return provider
}

export async function newSigningKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg)
  return { alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** An access token as in RFC 9068, unless the claims and header say otherwise. */
export function signToken(
  claims: Record<string, unknown>,
  key: SigningKey,
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT(claims as Record<string, never>)
    .setProtectedHeader({ alg: key.alg, kid: key.jwk.kid ?? '', typ: 'at+jwt', ...header })
    .sign(key.privateKey)
}

function send(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
