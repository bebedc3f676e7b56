import { useState } from 'preact/hooks'
import type { Person } from '../../../sdk/client.ts'
import { projectHere } from '../../lib/projects/chosen-project.ts'
import { useAction } from '../../lib/resource.ts'
import { serviceIn } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { type GivenRole, RoleField } from './role-field.tsx'
import { placeText, type Role } from './role-text.tsx'

type Props = {
  person: Person
  /** The role to change. If absent, another one is granted. */
  present: Role | undefined
  onClose(): void
  onSaved(person: Person): void
}

export function RoleDialog({ person, present, onClose, onSaved }: Props) {
  const [given, setGiven] = useState<GivenRole>({
    role: present?.role ?? 'viewer',
    all_projects: present?.project_id === null,
  })
  // The reader may be in a different project than the role.
  const project_id = present?.project_id ?? projectHere()
  const save = useAction(async () => {
    const saved = await serviceIn(project_id).people.setRole(person.id, given)
    onClose()
    toast(`${person.name} is now ${given.role}${given.all_projects ? ` in ${placeText(null)}` : ''}`)
    onSaved(saved)
  })
  return (
    <FormDialog
      title={present ? `Change the role of ${person.name}` : `Give ${person.name} a role`}
      onClose={onClose}
      action={present ? 'Change role' : 'Give role'}
      doing={save}
    >
      <RoleField value={given} project_id={project_id} onChange={setGiven} error={save.error} />
      <p class="hint">
        The role takes effect immediately. It overrides roles from groups and replaces {person.name}'s current role.
        Personal keys that were created with the current role lose the permissions that the new role doesn't have.
      </p>
    </FormDialog>
  )
}
