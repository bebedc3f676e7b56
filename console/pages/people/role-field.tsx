import type { MoorageError } from '../../../sdk/client.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { session } from '../../lib/session-state.ts'
import { reasonOf } from '../../ui/failure.tsx'
import { Select } from '../../ui/forms/field.tsx'
import { placeText } from './role-text.tsx'

/** The role to grant, and where. Only service administrators can grant a role in `all_projects`. */
export type GivenRole = { role: string; all_projects: boolean }

type Props = {
  value: GivenRole
  /** The project in which the role is valid, unless it is valid in all. */
  project_id: string
  onChange(value: GivenRole): void
  error: MoorageError | undefined
}

/**
 * Selects a role, and whether it is valid in one project or in all. Roles with more permissions than the reader has
 * aren't offered.
 */
export function RoleField({ value, project_id, onChange, error }: Props) {
  const roles = useResource('self', (signal) => service.keys.self({ signal })).data?.roles ?? []
  const chosen = roles.find(({ name }) => name === value.role)
  const names = chosen ? roles.map(({ name }) => name) : [value.role, ...roles.map(({ name }) => name)]
  return (
    <>
      <Select
        label="Role"
        value={value.role}
        choices={names.map((name) => ({ value: name, label: name || 'Choose a role' }))}
        onChange={(role) => onChange({ ...value, role })}
        hint={chosen && `Permissions: ${chosen.permissions.join(', ')}.`}
        error={reasonOf(error, 'role')}
      />
      {session.value?.reach === 'service' && (
        <Select
          label="Where"
          value={value.all_projects ? 'all' : 'here'}
          choices={[
            { value: 'here', label: placeText(project_id) },
            { value: 'all', label: placeText(null) },
          ]}
          onChange={(where) => onChange({ ...value, all_projects: where === 'all' })}
          hint={`In ${placeText(null)}, admin means service administrator.`}
        />
      )}
    </>
  )
}
