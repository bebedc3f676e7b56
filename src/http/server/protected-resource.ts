import type { Config } from '../../config.ts'
import { Permission } from '../../security/permissions.ts'
import type { RenderedReply } from '../dialects/dialect.ts'
import type { ArrivedRequest } from '../pipeline/request.ts'
import type { Endpoint } from './endpoint.ts'
import type { Front } from './front.ts'
import { send } from './replies/send.ts'
import type { Router } from './router.ts'

const PREFIX = '/.well-known/oauth-protected-resource'
/** The path of all agents, which the document without a path describes. */
const ALL_AGENTS = '/v1/mcp'

/** The scope of the tokens that this service issues itself. */
export const SCOPE = 'invoke:agents'

/**
 * Adds the documents of RFC 9728, which tell clients where to get tokens. They exist only if the service accepts a
 * provider's tokens or issues tokens itself, because a client that finds one no longer asks for a key.
 */
export function addProtectedResources(endpoints: Router<Endpoint>, { edge, routes }: Front): void {
  const { auth, mcp, server } = edge.parts.config
  const provider = auth?.type === 'oauth2' ? auth : undefined
  if (!provider && !mcp.signIn) return
  const ofProvider = provider ? (provider.scopes ?? Permission.options.map((name) => `${name}:agents`)) : []
  const scopes = [...new Set([...(mcp.signIn ? [SCOPE] : []), ...ofProvider])]
  const describe = (path?: string): Endpoint => ({
    open: true,
    async page(arrived, response) {
      const base = publicUrl(arrived, server)
      const document = {
        resource: base + (path ?? arrived.path.slice(PREFIX.length)),
        authorization_servers: [...(mcp.signIn ? [base] : []), ...(provider ? [provider.provider] : [])],
        bearer_methods_supported: ['header'],
        scopes_supported: scopes,
        resource_name: 'Moorage',
      }
      send(response, arrived.headers, { status: 200, headers: {}, body: JSON.stringify(document) })
    },
  })
  const paths = new Set(routes.filter(({ dialect }) => dialect.isProtectedResource).map(({ path }) => path))
  for (const path of paths) endpoints.add('GET', PREFIX + path, describe())
  if (mcp.signIn) endpoints.add('GET', PREFIX, describe(ALL_AGENTS))
}

/** Adds the document's URL to a refusal, for clients that can get a token. */
export function withChallenge(
  refusal: RenderedReply,
  { dialect, route, params, ...arrived }: ArrivedRequest,
  { auth, mcp, server }: Config,
): RenderedReply {
  const challenge = refusal.headers['WWW-Authenticate']
  if (!dialect.isProtectedResource || !route || !challenge) return refusal
  if (auth?.type !== 'oauth2' && !mcp.signIn) return refusal
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
  const document = `${publicUrl(arrived, server)}${PREFIX}${path}`
  return {
    ...refusal,
    headers: { ...refusal.headers, 'WWW-Authenticate': `${challenge}, resource_metadata="${document}"` },
  }
}

/** The service's URL as clients know it: the URL that the operator configured, or else the one that the client used. */
export function publicUrl(
  { secure, message }: Pick<ArrivedRequest, 'secure' | 'message'>,
  { publicUrl: named }: Config['server'],
): string {
  if (named !== undefined) return named
  return `${secure ? 'https' : 'http'}://${message.headers.host ?? ''}`
}
