import { forbidden, invalid } from '../../../errors.ts'
import { type Actor, workingIn } from '../../../operation/actor.ts'
import type { FindProject } from '../../../operation/project-snapshot.ts'
import { DEFAULT_PROJECT } from '../../../storage/tables/project-tables.ts'
import type { ArrivedRequest } from '../request.ts'

export const PROJECT_HEADER = 'moorage-project'

/**
 * Returns the actor in the project that the request names. A key of one project works in that project, so it needn't
 * name it. The reply doesn't reveal whether another project exists.
 */
export async function inProject({ message }: ArrivedRequest, actor: Actor, findProject: FindProject): Promise<Actor> {
  const ref = message.headers[PROJECT_HEADER]
  if (ref === undefined) return actor
  // A person gets the same reply for an unknown project as for one in which they have no role.
  if (actor.roles) return workingIn(actor, (await findProject(String(ref)))?.id ?? '')
  if (actor.reach === 'project') {
    const own = await findProject(actor.scope.project_id)
    if (ref !== own?.id && ref !== own?.name) throw forbidden('This key belongs to another project.')
    return actor
  }
  const project_id = (await findProject(String(ref)))?.id
  if (project_id === undefined)
    throw invalid({ field: 'Moorage-Project', error: 'no project with this ID or name exists' })
  return workingIn(actor, project_id)
}

/** Whether the agent of a request has moved to another project since the request was admitted. */
export async function hasMoved(
  { projectOf }: { projectOf(agent_id: string): Promise<string | undefined> },
  { scope }: Actor,
  agent_id: string,
): Promise<boolean> {
  return ((await projectOf(agent_id)) ?? scope.project_id) !== scope.project_id
}

/** The project that a request names, before its actor is known. */
export async function projectMeant({ message }: ArrivedRequest, findProject: FindProject): Promise<string | undefined> {
  const ref = message.headers[PROJECT_HEADER]
  return ref === undefined ? DEFAULT_PROJECT : (await findProject(String(ref)))?.id
}
