import type { Config } from '../config.ts'
import { conflict, invalid } from '../errors.ts'
import { withoutUndefined } from '../lib/without-undefined.ts'
import { operation } from '../operation.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import { ProjectParams, ProjectReply, presentProject, UpdateProjectBody, withLimits } from './project.ts'
import * as projects from './store.ts'

export const updateProject = operation({
  id: 'updateProject',
  method: 'PATCH',
  path: '/v1/projects/{project_id}',
  summary: 'Update a project',
  description:
    "Changes only the fields you send, including the fields of `limits`. A project that `console.oidc[].roles` refers to by name can't be renamed: 409. Requires access to all projects. The default project keeps its name.",
  access: { permission: 'manage', reach: 'service' },
  audit: { target: 'project_id' },
  idempotent: true,
  input: { params: ProjectParams, body: UpdateProjectBody },
  answer: { data: ProjectReply, errors: ['conflict'] },

  async run({ params, body }, { db, config, now }) {
    const { id } = await projects.get(db, params.project_id)
    const project = await projects.lock(db, id)
    const isRenamed = body.name !== undefined && body.name !== project.name
    if (isRenamed && project.id === DEFAULT_PROJECT) {
      throw invalid({ field: 'name', error: "can't be changed for the default project" })
    }
    if (isRenamed) requireNotInSettings(project.name, config)
    const changes = {
      ...withoutUndefined(body),
      limits: withLimits(project.limits, body.limits ?? {}),
      updated_at: Math.max(now(), project.updated_at),
    }
    await projects.update(db, id, changes)
    return presentProject({ ...project, ...changes })
  },
})

/** Otherwise, people would silently lose the roles that their groups give them in the project. */
function requireNotInSettings(name: string, { console }: Config): void {
  for (const issuer of console.oidc) {
    const line = issuer.roles.findIndex(({ project }) => project === name)
    if (line < 0) continue
    const setting = `console.oidc[name=${issuer.name}].roles[${line}].project`
    throw conflict(
      `${setting} refers to this project by its name "${name}". Replace the name there with the project's ID, then rename the project.`,
    )
  }
}
