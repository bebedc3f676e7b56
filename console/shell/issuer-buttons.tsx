import { useAction } from '../lib/resource.ts'
import { signInWith } from '../lib/session.ts'
import type { Issuer } from '../lib/session-state.ts'
import { Button } from '../ui/button.tsx'
import { Failure } from '../ui/failure.tsx'

type Props = { issuers: Issuer[]; invitation?: string | undefined }

/** Buttons that lead to identity providers, with the invitation if one was opened. */
export function IssuerButtons({ issuers, invitation }: Props) {
  const action = useAction((name: string) => signInWith(name, invitation))
  return (
    <>
      {issuers.map(({ name, label }) => (
        <Button key={name} look="main" isBusy={action.isBusy} onClick={() => void action.run(name)}>
          {`Sign in with ${label}`}
        </Button>
      ))}
      <Failure error={action.error} />
    </>
  )
}
