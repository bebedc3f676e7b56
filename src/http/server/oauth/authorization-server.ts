import type { Endpoint } from '../endpoint.ts'
import type { Front } from '../front.ts'
import { SCOPE } from '../protected-resource.ts'
import { send } from '../replies/send.ts'
import type { Router } from '../router.ts'
import { ConsentPages } from './consent-pages.ts'
import { TokenEndpoint } from './token-endpoint.ts'

/**
 * Adds the authorization server for MCP clients, if `mcp.signIn` is set: OAuth 2.1 with codes, PKCE, and clients that are
 * known by the URL of their metadata document.
 */
export function addAuthorizationServer(endpoints: Router<Endpoint>, front: Front): void {
  const { applications, console, parts } = front.edge
  const { publicUrl } = parts.config.server
  if (!applications || !console || publicUrl === undefined) return
  const pages = new ConsentPages(front, console, applications, publicUrl)
  const tokens = new TokenEndpoint(front, applications)
  const add = (method: string, path: string, page: NonNullable<Endpoint['page']>) =>
    endpoints.add(method, path, { open: true, page })
  const metadata = JSON.stringify(metadataOf(publicUrl))

  add('GET', '/.well-known/oauth-authorization-server', async (arrived, response) =>
    send(response, arrived.headers, { status: 200, headers: {}, body: metadata }),
  )
  add('GET', '/oauth/authorize', (...given) => pages.shown(pages.begin(...given), ...given))
  add('GET', '/oauth/consent', (...given) => pages.shown(pages.show(...given), ...given))
  add('POST', '/oauth/consent', (...given) => pages.shown(pages.decide(...given), ...given))
  add('POST', '/oauth/sign-in', (...given) => pages.shown(pages.signIn(...given), ...given))
  add('GET', '/oauth/sign-in/{issuer}', (...given) => pages.shown(pages.goToIssuer(...given), ...given))
  add('POST', '/oauth/token', (...given) => tokens.give(...given))
  add('POST', '/oauth/revoke', (...given) => tokens.revoke(...given))
}

/** RFC 8414. */
function metadataOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: [SCOPE],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  }
}
