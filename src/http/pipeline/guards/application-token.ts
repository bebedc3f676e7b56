import type { Actor } from '../../../operation/actor.ts'
import type { ArrivedRequest, SentKey, VerifiedKey } from '../request.ts'

export const ACCESS_TOKEN_PREFIX = 'mrgat_'

/** Who sends an application's access token, and the only URL at which it is accepted. */
type FoundApplication = { key: SentKey & { verified: VerifiedKey }; actor: Actor; resource: string }

/** Finds applications by their access tokens. */
export type FindApplication = (token: string) => Promise<FoundApplication | undefined>

/**
 * The actor of an application's token. A token is accepted only at the MCP server for which it was issued, so whoever
 * gets hold of it can't use the rest of the API, nor another agent.
 */
export async function actorOfApplication(
  arrived: ArrivedRequest,
  token: string,
  find: FindApplication,
  publicUrl: string | undefined,
): Promise<Actor | undefined> {
  if (!arrived.route?.dialect.isProtectedResource) return undefined
  const found = await find(token)
  if (found?.resource !== `${publicUrl}${arrived.path}`) return undefined
  arrived.key = found.key
  return found.actor
}
