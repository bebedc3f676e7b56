import { useEffect, useState } from 'preact/hooks'
import { useAction } from '../lib/resource.ts'
import { signIn } from '../lib/session.ts'
import type { Issuer } from '../lib/session-state.ts'
import { Button } from '../ui/button.tsx'
import { Snippet } from '../ui/copy.tsx'
import { Failure } from '../ui/failure.tsx'
import { Field } from '../ui/forms/field.tsx'
import { Form } from '../ui/forms/form.tsx'
import { Anchor } from './anchor.tsx'
import { IssuerButtons } from './issuer-buttons.tsx'

type Props = { reason?: string | undefined; issuers: Issuer[] }

/** The key is sent to the service once and isn't kept in the browser. */
export function SignIn({ reason, issuers }: Props) {
  const [key, setKey] = useState('')
  const action = useAction(() => signIn({ key: key.trim() }))
  const hasIssuers = issuers.length > 0
  useEffect(() => {
    document.title = 'Sign in · Moorage'
  }, [])
  return (
    <main class="sign-in">
      <Form onSubmit={() => action.run()}>
        <Anchor />
        <h1>Sign in to Moorage</h1>
        {reason && <p class="notice">{reason}</p>}
        <IssuerButtons issuers={issuers} />
        {hasIssuers && <p class="or">or with a key</p>}
        <Field
          label="API key"
          type="password"
          placeholder="mrg_…"
          autoComplete="off"
          value={key}
          onInput={setKey}
          hint="You get the key's permissions. The key isn't stored in this browser."
          isRequired
          hasFocus={!hasIssuers}
          isMono
        />
        <Failure error={action.error} />
        <Button look={hasIssuers ? 'plain' : 'main'} type="submit" isBusy={action.isBusy}>
          Sign in
        </Button>
        <details>
          <summary>Are you on the server?</summary>
          <p>Run this command to open a one-time sign-in link:</p>
          <Snippet label="command" text="npm run moorage -- open" />
        </details>
      </Form>
    </main>
  )
}
