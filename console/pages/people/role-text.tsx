import type { Person } from '../../../sdk/client.ts'
import { projects } from '../../lib/projects/chosen-project.ts'
import { session } from '../../lib/session-state.ts'

export type Role = Person['roles'][number]

/** Where a role is valid. If there is only one project, it isn't mentioned: a role is for agents or for the service. */
export function placeText(project_id: string | null): string {
  const hasProjects = projects.value.length > 0
  if (project_id === null) return hasProjects ? 'all projects' : 'the service'
  const place = projects.value.find(({ id }) => id === project_id)?.name
  return place ?? (hasProjects ? 'this project' : 'agents')
}

/** `developer in shop`, `admin of the service`. */
export function RoleIn({ role, project_id }: { role: string; project_id: string | null }) {
  const hasProjects = projects.value.length > 0
  const isSaid = project_id === null || hasProjects
  return (
    <>
      {role}
      {isSaid && (
        <span class="soft">
          {' '}
          {hasProjects ? 'in' : 'of'} {placeText(project_id)}
        </span>
      )}
    </>
  )
}

/** Who granted a role: an administrator, or the groups of an identity provider. */
export function sourceText(source: string): string {
  const [, name] = /^group:(.*)$/.exec(source) ?? []
  if (name === undefined) return 'set in Moorage'
  return `groups of ${session.value?.issuers.find((issuer) => issuer.name === name)?.label ?? name}`
}
