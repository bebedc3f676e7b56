import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { ProjectReply, presentProject } from './project.ts'
import * as projects from './store.ts'

export const listProjects = operation({
  id: 'listProjects',
  method: 'GET',
  path: '/v1/projects',
  summary: 'List projects',
  description: 'A key limited to one project sees only that project.',
  access: { permission: 'read' },
  input: { query: listQuery(['created_at', 'updated_at', 'name', 'id'], {}) },
  answer: { list: ProjectReply },

  async run({ query }, { db, actor }) {
    const only = actor.reach === 'service' ? undefined : actor.scope.project_id
    const { items, total } = await projects.list(db, query, only)
    return { items: items.map(presentProject), total }
  },
})
