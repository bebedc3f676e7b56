import { operation } from '../operation.ts'
import { CreateProjectBody, ProjectReply, presentProject, withLimits } from './project.ts'
import * as projects from './store.ts'

export const createProject = operation({
  id: 'createProject',
  method: 'POST',
  path: '/v1/projects',
  summary: 'Create a project',
  description:
    "Creates an isolated project. Agents, keys, webhooks, secrets, providers and audit entries belong to one project and can't be seen from others. Requires a key with access to all projects. To work in the project, name it in the header `Moorage-Project`.",
  access: { permission: 'manage', reach: 'service' },
  mfa: { policy: 'keys' },
  audit: { target: 'reply' },
  idempotent: true,
  input: { body: CreateProjectBody },
  answer: { status: 201, data: ProjectReply, errors: ['conflict'] },

  async run({ body }, { db, newId, now }) {
    const time = now()
    const project = {
      ...body,
      limits: withLimits({}, body.limits),
      stored_bytes: null,
      id: newId('prj', time),
      created_at: time,
      updated_at: time,
    }
    await projects.insert(db, project)
    return presentProject(project)
  },
})
