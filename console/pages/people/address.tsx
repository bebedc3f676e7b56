import type { Person } from '../../../sdk/client.ts'

/** If the identity provider hasn't verified an address, it may belong to another person. */
export function Address({ email, email_verified }: Pick<Person, 'email' | 'email_verified'>) {
  if (email === null) return <>–</>
  return (
    <>
      {email} {!email_verified && <span class="soft">not verified</span>}
    </>
  )
}
