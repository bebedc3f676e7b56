import type { Person } from '../../../sdk/client.ts'
import { session } from '../../lib/session-state.ts'

export type Role = Person['roles'][number]

/** Where a role holds. */
export function placeText(project_id: string | null): string {
  if (project_id === null) return 'all projects'
  return session.value?.projects.find(({ id }) => id === project_id)?.name ?? 'this project'
}

/** `developer in shop`. Where there is one project only, it is not spoken of. */
export function RoleIn({ role, project_id }: { role: string; project_id: string | null }) {
  const isSaid = project_id === null || (session.value?.projects.length ?? 0) > 1
  return (
    <>
      {role}
      {isSaid && <span class="soft"> in {placeText(project_id)}</span>}
    </>
  )
}

/** Who gave a role: an administrator, or the groups of an identity provider. */
export function sourceText(source: string): string {
  const [, name] = /^group:(.*)$/.exec(source) ?? []
  if (name === undefined) return 'given here'
  return `groups of ${session.value?.issuers.find((issuer) => issuer.name === name)?.label ?? name}`
}
