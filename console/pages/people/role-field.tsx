import type { MoorageError } from '../../../sdk/client.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { session } from '../../lib/session-state.ts'
import { reasonOf } from '../../ui/failure.tsx'
import { Select } from '../../ui/forms/field.tsx'
import { placeText } from './role-text.tsx'

/** What is given where: `all_projects` is for administrators of the service to give. */
export type GivenRole = { role: string; all_projects: boolean }

type Props = {
  value: GivenRole
  onChange(value: GivenRole): void
  error: MoorageError | undefined
}

/** Chooses a role, and whether it holds in this project or in all. Roles that may do more than the reader are not offered. */
export function RoleField({ value, onChange, error }: Props) {
  const roles = useResource('self', (signal) => service.keys.self({ signal })).data?.roles ?? []
  const chosen = roles.find(({ name }) => name === value.role)
  const names = chosen ? roles.map(({ name }) => name) : [value.role, ...roles.map(({ name }) => name)]
  const { reach, project_id = '' } = session.value ?? {}
  return (
    <>
      <Select
        label="Role"
        value={value.role}
        choices={names.map((name) => ({ value: name, label: name || 'Choose one' }))}
        onChange={(role) => onChange({ ...value, role })}
        hint={chosen && `May ${chosen.permissions.join(', ')}.`}
        error={reasonOf(error, 'role')}
      />
      {reach === 'service' && (
        <Select
          label="Where"
          value={value.all_projects ? 'all' : 'here'}
          choices={[
            { value: 'here', label: placeText(project_id) },
            { value: 'all', label: 'all projects' },
          ]}
          onChange={(where) => onChange({ ...value, all_projects: where === 'all' })}
          hint="In all projects, admin is an administrator of the service."
        />
      )}
    </>
  )
}
