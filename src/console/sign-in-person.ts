import type { Actor } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { actorOfPerson } from '../people/person.ts'
import { recognisePerson, type Unwelcome } from '../people/recognise-person.ts'
import type { OidcIssuer, Vouched } from '../security/oidc/oidc-issuer.ts'
import { CONFIRM_WITHIN_MS, sealTokens } from './confirm-session.ts'
import { keepSession, newSession, type OpenedSession, type SignInFrom, type SignInParts } from './sign-in.ts'

type PersonParts = SignInParts & Pick<Parts, 'keyring' | 'log'>

/** Opens a session for the person for whom an identity provider vouches. Says why not, if they may do nothing here. */
export async function signInPerson(
  parts: PersonParts,
  { identity, tokens }: Vouched,
  { settings }: OidcIssuer,
  from: SignInFrom,
  invitation?: string,
): Promise<OpenedSession | Unwelcome> {
  const { storage, keyring } = parts
  return storage.transaction(async (db) => {
    const now = parts.now()
    const known = await recognisePerson(db, identity, settings, { ...parts, ...from, now }, invitation)
    if (typeof known === 'string') return known
    const { person, roles } = known
    const isAskedAgain = tokens.refresh_token !== undefined || settings.roles.length > 0
    const { session, secret } = newSession(parts, from)
    const opened = {
      ...session,
      person_id: person.id,
      issuer: settings.name,
      issuer_subject: identity.subject,
      issuer_session: identity.session,
      issuer_tokens: sealTokens(tokens, keyring),
      confirm_before: isAskedAgain ? now + CONFIRM_WITHIN_MS : null,
      is_strong: identity.is_strong ? 1 : 0,
    }
    const actor = withSession(actorOfPerson(roles) as Actor, opened)
    await keepSession(db, parts, opened, { actor, from, fields: ['issuer', ...(invitation ? ['invitation'] : [])] })
    return { actor, secret }
  })
}

export function withSession(actor: Actor, { id, is_strong }: { id: string; is_strong: number }): Actor {
  return { ...actor, console_session: id, ...(is_strong === 1 && { is_strong: true }) }
}
