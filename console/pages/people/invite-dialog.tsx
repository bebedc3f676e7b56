import { useState } from 'preact/hooks'
import { projectHere } from '../../lib/projects/chosen-project.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../ui/failure.tsx'
import { Field, Select } from '../../ui/forms/field.tsx'
import { type GivenRole, RoleField } from './role-field.tsx'

const HOURS = [
  { value: '24', label: 'a day' },
  { value: '72', label: '3 days' },
  { value: '168', label: 'a week' },
  { value: '720', label: '30 days' },
]

type Props = { onClose(): void; onCreated(invitation: { email: string; token: string }): void }

export function InviteDialog({ onClose, onCreated }: Props) {
  const [email, setEmail] = useState('')
  const [given, setGiven] = useState<GivenRole>({ role: 'viewer', all_projects: false })
  const [hours, setHours] = useState('72')
  const create = useAction(async () => {
    onCreated(await service.invitations.create({ email: email.trim(), ...given, expires_in_hours: Number(hours) }))
  })
  return (
    <FormDialog title="Invite person" onClose={onClose} action="Create link" doing={create}>
      <Field
        label="Email address"
        value={email}
        onInput={setEmail}
        placeholder="ada@example.com"
        hint="The identity provider must have verified this address. No one else can accept the invitation."
        error={reasonOf(create.error, 'email')}
        isRequired
        hasFocus
      />
      <RoleField value={given} project_id={projectHere()} onChange={setGiven} error={create.error} />
      <Select label="Link expires after" value={hours} choices={HOURS} onChange={setHours} />
    </FormDialog>
  )
}
