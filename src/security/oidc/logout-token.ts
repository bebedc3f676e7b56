import { z } from 'zod'
import { CLOCK_SKEW_SECONDS, jose, refusalOf } from '../tokens/bearer-token.ts'
import type { IdentityProvider } from '../tokens/identity-provider.ts'
import type { OidcSettings } from './oidc-settings.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** An older token was replayed or delayed for too long. */
const MAX_AGE = '5m'

const Claims = z.object({
  sub: z.string().optional(),
  sid: z.string().optional(),
  iat: z.number(),
  nonce: z.never().optional(),
  events: z.looseObject({ [EVENT]: z.looseObject({}) }),
})

/** Sessions that have ended at the provider: one session of a person, or all that began before the provider said so. */
export type EndedThere = { subject: string | undefined; session: string | undefined; began_before: number }

/**
 * Undefined for a token that isn't valid, `unavailable` if the provider can't be asked about it. Sending a token again
 * doesn't end sessions that began later, except within the few seconds by which clocks may differ.
 */
export async function readLogoutToken(
  token: string,
  { clientId }: OidcSettings,
  provider: IdentityProvider,
  now: number,
): Promise<EndedThere | 'unavailable' | undefined> {
  const { jwtVerify } = jose()
  try {
    const { issuer } = await provider.metadata()
    const { payload } = await jwtVerify(token, provider.keyFor, {
      issuer,
      audience: clientId,
      maxTokenAge: MAX_AGE,
      clockTolerance: CLOCK_SKEW_SECONDS,
      currentDate: new Date(now),
      requiredClaims: ['iat', 'jti', 'events'],
    })
    const claims = Claims.safeParse(payload).data
    if (!claims || (claims.sub === undefined && claims.sid === undefined)) return undefined
    const began_before = (claims.iat + CLOCK_SKEW_SECONDS) * 1000
    return { subject: claims.sub, session: claims.sid, began_before }
  } catch (error) {
    return refusalOf(error).reason === 'unavailable' ? 'unavailable' : undefined
  }
}
