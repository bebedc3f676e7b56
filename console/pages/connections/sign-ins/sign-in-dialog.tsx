import { useState } from 'preact/hooks'
import type { Connection, ConnectionLink } from '../../../../sdk/client.ts'
import { useAction } from '../../../lib/resource.ts'
import { service } from '../../../lib/service.ts'
import { toast } from '../../../lib/toasts.ts'
import { Snippet } from '../../../ui/copy.tsx'
import { FormDialog } from '../../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../../ui/failure.tsx'
import { Field } from '../../../ui/forms/field.tsx'

type Props = { connection: Connection; onClose(): void; onSignedIn(): void }

/** Creates a link where a user or the project signs in, and confirms who it was. */
export function SignInDialog({ connection: { name, as }, onClose, onSignedIn }: Props) {
  const isProject = as === 'service'
  const [user, setUser] = useState('')
  const [link, setLink] = useState<ConnectionLink>()
  const whose = isProject ? {} : { user_id: user.trim() }
  const next = useAction(async () => {
    if (!link) return setLink(await service.connections.createLink(name, whose))
    await service.connections.confirmLink(name, link.link_id, whose)
    toast(isProject ? `Signed in to ${name}` : `${user.trim()} is signed in to ${name}`)
    onClose()
    onSignedIn()
  })
  return (
    <FormDialog
      title={isProject ? `Sign the project in to ${name}` : `Sign a user in to ${name}`}
      action={link ? 'Confirm sign-in' : 'Create link'}
      doing={next}
      onClose={onClose}
    >
      {!link && isProject && <p>All runs use this sign-in. Use a dedicated account, such as a bot's.</p>}
      {!link && !isProject && (
        <Field
          label="User ID"
          value={user}
          onInput={setUser}
          error={reasonOf(next.error, 'user_id')}
          hint="The user_id with which your application invokes agents."
          isMono
          isRequired
          hasFocus
        />
      )}
      {link && (
        <>
          <p>{isProject ? 'Open this link and sign in:' : `Send this link to ${user.trim()} to sign in:`}</p>
          <Snippet label="sign-in link" text={link.url} />
          <p>
            <a href={link.url} target="_blank" rel="noopener">
              Open the link in another tab
            </a>
          </p>
          <p class="hint">
            The link is valid for ten minutes and one sign-in.{' '}
            {isProject
              ? 'After signing in, confirm that it was you.'
              : 'Confirm the sign-in here only if you know that this user signed in. Otherwise, let your application confirm it.'}
          </p>
        </>
      )}
    </FormDialog>
  )
}
