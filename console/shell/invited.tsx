import { useEffect } from 'preact/hooks'
import { beginSession, type Issuer, type Session } from '../lib/session-state.ts'
import { Button } from '../ui/button.tsx'
import { Anchor } from './anchor.tsx'
import { IssuerButtons } from './issuer-buttons.tsx'
import { nameOf } from './name-of.ts'

type Props = {
  invitation: string
  issuers: Issuer[]
  /** Set if a person is already signed in. */
  session?: Session
}

/** The page for an invitation. People accept it by signing in with the address to which it was sent. */
export function Invited({ invitation, issuers, session }: Props) {
  useEffect(() => {
    document.title = 'You are invited · Moorage'
  }, [])
  return (
    <main class="sign-in">
      <section>
        <Anchor />
        <h1>You are invited</h1>
        {issuers.length > 0 ? (
          <p>Sign in with the invited email address to get the role.</p>
        ) : (
          <p class="notice">
            No identity provider is configured right now. Ask the person who invited you for another way to sign in.
          </p>
        )}
        <IssuerButtons issuers={issuers} invitation={invitation} />
        {session && (
          <>
            <p class="hint">
              You are signed in as {nameOf(session)}. Accepting the invitation ends that session in this browser.
            </p>
            <Button onClick={() => beginSession(session)}>Stay signed in</Button>
          </>
        )}
      </section>
    </main>
  )
}
