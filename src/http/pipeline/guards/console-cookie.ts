import type { Actor } from '../../../operation/actor.ts'
import type { EndedThere } from '../../../security/oidc/logout-token.ts'
import type { OidcIssuer, VerifiedIdentity } from '../../../security/oidc/oidc-issuer.ts'
import { cookieLine, cookieName, cookieValues } from '../../input/cookies.ts'
import type { ArrivedRequest } from '../request.ts'
import type { ConsoleDoor } from './console-door.ts'

/** The sessions of people who are signed in to the console. */
export type ConsoleSessions = {
  /** Signs in with a key or a link. Undefined if it isn't valid. */
  signIn(
    credential: { key: string } | { link_token: string },
    from: { request_id: string; address: string; browser: string; secure: boolean },
  ): Promise<{ actor: Actor; secret: string } | undefined>
  use(
    secret: string,
    from: { request_id: string; address: string; secure: boolean },
  ): Promise<{ actor: Actor; fresh: string | undefined } | undefined>
  describe(actor: Actor): Promise<{
    session_id: string
    /** Null if a person is signed in. */
    key: { id: string; name: string; hint: string } | null
    person: { id: string; name: string; email: string | null; role: string | null } | null
    expires_at: number
    idle_seconds: number
    has_factor: boolean
    /** The projects that a person, or a key with access to all projects, can choose from. */
    projects: { id: string; name: string }[]
  }>
  /** When the actor's session ends if it isn't used again. 0 if it has ended. */
  validUntil(actor: Actor): Promise<number>
  /**
   * Ends the session. Returns the URL at which the browser also signs out of the identity provider; `back` is where the
   * browser then returns.
   */
  signOut(actor: Actor, from: { request_id: string; address: string }, back: string): Promise<string | undefined>
  /** Ends the session that a browser had before it went to the provider. `by` is the actor who came back. */
  endEarlier(secret: string, by: Actor, from: { request_id: string; address: string }): Promise<void>
  /** The identity providers that the sign-in page offers. */
  issuers(): { name: string; label: string }[]
  findIssuer(name: string): OidcIssuer | undefined
  /** Signs a person in. Returns the reason if the person has no permissions here. */
  signInPerson(
    vouched: VerifiedIdentity,
    issuer: OidcIssuer,
    from: { request_id: string; address: string; browser: string; secure: boolean },
    invitation?: string,
  ): Promise<{ actor: Actor; secret: string } | string>
  /**
   * Creates a key for a device whose person has signed in elsewhere. Returns the reason if the person has no
   * permissions here.
   */
  signInDevice(
    vouched: VerifiedIdentity,
    issuer: OidcIssuer,
    from: { request_id: string; address: string; name: string; project: string | undefined },
  ): Promise<{ actor: Actor; id: string; secret: string } | string>
  /** Ends a person's sessions that an identity provider has opened. */
  endOfIssuer(issuer: string, whose: EndedThere, from: { request_id: string; address: string }): Promise<void>
}

const NAME = 'moorage'
const SECRET = /^[\w-]{43}$/

/**
 * The actor of the cookie in a request. The cookie is accepted only if our own page sent it, under one of our names,
 * and no other machine could read it on the way. Otherwise undefined.
 */
export async function actorOfCookie(
  arrived: ArrivedRequest,
  { sessions, door }: { sessions: ConsoleSessions; door: ConsoleDoor },
): Promise<Actor | undefined> {
  const secret = readCookie(arrived)
  if (secret === undefined || !door.isOwnPage(arrived)) return undefined
  door.checkHost(arrived)
  door.checkSecrecy(arrived)
  const used = await sessions.use(secret, arrived)
  if (!used) forgetCookie(arrived)
  else if (used.fresh !== undefined) setCookie(arrived, used.fresh)
  return used?.actor
}

/**
 * Reads the cookie. If it was sent twice, another site has set one of them, from another path or a sibling domain, so
 * neither is used.
 */
export function readCookie(arrived: ArrivedRequest): string | undefined {
  const [secret, ...others] = cookieValues(arrived, cookieName(arrived, NAME))
  return secret !== undefined && others.length === 0 && SECRET.test(secret) ? secret : undefined
}

/** Sets a cookie that ends with the browser, unless the service ends the session earlier. */
export function setCookie(arrived: ArrivedRequest, secret: string): void {
  arrived.headers['Set-Cookie'] = sessionCookie(arrived, secret)
}

export function sessionCookie(arrived: ArrivedRequest, secret: string): string {
  return cookieLine(arrived, { name: cookieName(arrived, NAME), value: secret, site: 'Strict' })
}

export function forgetCookie(arrived: ArrivedRequest): void {
  const name = cookieName(arrived, NAME)
  arrived.headers['Set-Cookie'] = cookieLine(arrived, { name, value: '', site: 'Strict', seconds: 0 })
}
