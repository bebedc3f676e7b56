import type { Actor } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { actorOfPerson, VOUCHED_MS } from '../people/person.ts'
import { recognisePerson, type Unwelcome } from '../people/recognise-person.ts'
import type { Keyring } from '../security/keyring.ts'
import type { OidcIssuer, VerifiedIdentity } from '../security/oidc/oidc-issuer.ts'
import { sealTokens } from './confirm-session.ts'
import type { ConsoleSession } from './console-session.ts'
import { keepSession, newSession, type OpenedSession, type SignInFrom, type SignInParts } from './sign-in.ts'

type PersonParts = SignInParts & Pick<Parts, 'keyring' | 'log'>

/**
 * Opens a session for a person whom an identity provider vouches for. Returns the reason if the person has no
 * permissions here.
 */
export async function signInPerson(
  parts: PersonParts,
  vouched: VerifiedIdentity,
  issuer: OidcIssuer,
  from: SignInFrom,
  invitation?: string,
): Promise<OpenedSession | Unwelcome> {
  const { storage, keyring } = parts
  const { identity } = vouched
  return storage.transaction(async (db) => {
    const now = parts.now()
    const known = await recognisePerson(db, identity, issuer.settings, { ...parts, ...from, now }, invitation)
    if (typeof known === 'string') return known
    const { person, roles } = known
    const { session, secret } = newSession(parts, from)
    const opened = {
      ...session,
      ...toldBy(issuer, vouched, { keyring, now }),
      person_id: person.id,
      is_strong: identity.is_strong ? 1 : 0,
    }
    const actor = withSession(actorOfPerson(roles) as Actor, opened)
    await keepSession(db, parts, opened, { actor, from, fields: ['issuer', ...(invitation ? ['invitation'] : [])] })
    return { actor, secret }
  })
}

/** What a session stores so that its identity provider can be asked again. */
export function toldBy(
  { settings }: OidcIssuer,
  { identity, tokens }: VerifiedIdentity,
  { keyring, now }: { keyring: Keyring; now: number },
): Partial<ConsoleSession> {
  const canConfirm = tokens.refresh_token !== undefined
  return {
    issuer: settings.name,
    issuer_subject: identity.subject,
    issuer_session: identity.session,
    issuer_tokens: sealTokens(tokens, keyring),
    can_confirm: canConfirm ? 1 : 0,
    confirm_before: canConfirm || settings.roles.length > 0 ? now + VOUCHED_MS : null,
  }
}

export function withSession(actor: Actor, { id, is_strong }: { id: string; is_strong: number }): Actor {
  return { ...actor, console_session: id, ...(is_strong === 1 && { is_strong: true }) }
}
