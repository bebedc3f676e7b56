import type { Secrets } from '../fill-secrets.ts'
import { NeedsGrant, ToolError, type ToolWorld } from '../tool.ts'
import { tokensFor } from './tokens-for.ts'

/**
 * Sends a request with the tokens of these connections. If the server doesn't accept them, it is sent once more with
 * other ones: it was refused, not made. Throws NeedsGrant if the user has to allow more first.
 */
export async function sendSigned(
  names: readonly string[],
  world: Pick<ToolWorld, 'connections'>,
  send: (tokens: Secrets) => Promise<Response>,
): Promise<Response> {
  let tokens = await tokensFor(names, world)
  let response = await send(tokens)
  if (response.status === 401 && names.length > 0) {
    const renewed = await tokensFor(names, world, tokens)
    if (names.some((name) => renewed[name]?.value !== tokens[name]?.value)) {
      await response.body?.cancel()
      tokens = renewed
      response = await send(tokens)
    }
  }
  const [name, ...others] = names
  const scopes = response.status === 403 ? scopesAsked(response) : undefined
  // With several tokens, the answer doesn't say which of them is meant.
  if (name === undefined || others.length > 0 || scopes === undefined) return response
  await response.body?.cancel()
  const widened = await world.connections.widen(name, { token: tokens[name]?.value ?? '', scopes })
  throw widened.state === 'refused' ? new ToolError(widened.why) : new NeedsGrant(widened)
}

/** The scopes that a server asks for because the token's own are too few (RFC 6750). */
function scopesAsked({ headers }: Response): string[] | undefined {
  const challenge = headers.get('www-authenticate') ?? ''
  if (!/(?:^|[\s,])error="?insufficient_scope"?(?=$|[\s,])/i.test(challenge)) return undefined
  const [, scope = ''] = /(?:^|[\s,])scope="([^"]*)"/i.exec(challenge) ?? []
  return scope.split(' ').filter(Boolean)
}
