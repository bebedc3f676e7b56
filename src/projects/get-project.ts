import { notFound } from '../errors.ts'
import type { Actor } from '../operation/actor.ts'
import { operation } from '../operation.ts'
import type { Database } from '../storage/database.ts'
import { type Project, ProjectParams, ProjectReply, presentProject } from './project.ts'
import * as projects from './store.ts'

export const getProject = operation({
  id: 'getProject',
  method: 'GET',
  path: '/v1/projects/{project_id}',
  summary: 'Get a project',
  description: 'Identify the project by ID or name.',
  access: { permission: 'read' },
  input: { params: ProjectParams },
  answer: { data: ProjectReply },

  async run({ params }, { db, actor }) {
    return presentProject(await getInReach(db, actor, params.project_id))
  },
})

/** A key of one project must not learn whether another exists. */
async function getInReach(db: Database, { reach, scope }: Actor, ref: string): Promise<Project> {
  const project = await projects.get(db, ref)
  if (reach === 'project' && project.id !== scope.project_id) throw notFound('Project', ref)
  return project
}
