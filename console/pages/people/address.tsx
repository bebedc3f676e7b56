import type { Person } from '../../../sdk/client.ts'

/** An address that its identity provider has not verified may be that of another person. */
export function Address({ email, email_verified }: Pick<Person, 'email' | 'email_verified'>) {
  if (email === null) return <>–</>
  return (
    <>
      {email} {!email_verified && <span class="soft">not verified</span>}
    </>
  )
}
