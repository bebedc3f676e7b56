import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { ProjectParams, ProjectReply, presentProject } from './project.ts'
import { getInReach } from './project-in-reach.ts'

export const getProject = operation({
  id: 'getProject',
  method: 'GET',
  path: '/v1/projects/{project_id}',
  summary: 'Get a project',
  description: 'Identify the project by ID or name.',
  access: { permission: 'read' },
  input: { params: ProjectParams },
  answer: { data: ProjectReply },

  async run({ params }, { db, actor }: Needs<'db' | 'actor'>) {
    return presentProject(await getInReach(db, actor, params.project_id))
  },
})
