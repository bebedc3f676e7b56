import { useEffect } from 'preact/hooks'
import { useAction } from '../lib/resource.ts'
import { signIn } from '../lib/session.ts'
import { beginSession, type Session } from '../lib/session-state.ts'
import { Button } from '../ui/button.tsx'
import { Failure } from '../ui/failure.tsx'
import { Form } from '../ui/forms/form.tsx'
import { Anchor } from './anchor.tsx'
import { nameOf } from './name-of.ts'

/**
 * Asks before a link replaces the session. With a stranger's link, the reader would continue with the stranger's key.
 */
export function UseLink({ session, link_token }: { session: Session; link_token: string }) {
  const action = useAction(() => signIn({ link_token }))
  useEffect(() => {
    document.title = 'Use this sign-in link? · Moorage'
  }, [])
  return (
    <main class="sign-in">
      <Form onSubmit={() => action.run()}>
        <Anchor />
        <h1>Use this sign-in link?</h1>
        <p>
          You are signed in {session.person ? 'as' : 'with the key'} <strong>{nameOf(session)}</strong>. The link signs
          you in with the key it was created for, which might be another one. Use it only if you know who created it.
        </p>
        <Failure error={action.error} />
        <Button look="main" onClick={() => beginSession(session)}>
          Stay signed in
        </Button>
        <Button type="submit" isBusy={action.isBusy}>
          Use link
        </Button>
      </Form>
    </main>
  )
}
