import { z } from 'zod'
import { conflict, invalid } from '../errors.ts'
import { operation } from '../operation.ts'
import { enqueue } from '../storage/jobs/jobs.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import { ProjectParams } from './project.ts'
import * as projects from './store.ts'

export const deleteProject = operation({
  id: 'deleteProject',
  method: 'DELETE',
  path: '/v1/projects/{project_id}',
  summary: 'Delete a project',
  description:
    "Cancels the project's active runs and deletes its agents, keys, webhooks, secrets and providers immediately. Logs, metrics and memories are deleted in the background. Audit entries are kept. The event `project.deleted` is sent to webhooks of the default project. Requires access to all projects. The `security` of every agent in the project applies as if that agent were deleted: the request can fail with 403, or require a one-time code. The default project can't be deleted: 409.",
  access: { permission: 'manage', reach: 'service' },
  mfa: {
    policy: 'keys',
    removesProject: async ({ params }, db) => (await projects.find(db, params.project_id))?.id ?? null,
  },
  audit: { target: 'project_id' },
  input: {
    params: ProjectParams,
    query: z.strictObject({ name: z.string().describe("The project's name, to confirm the deletion") }),
  },
  answer: { data: z.object({ id: z.string(), deleted: z.literal(true) }), errors: ['conflict'] },

  async run({ params, query }, { db, events, newId, now }) {
    const { id, name } = await projects.get(db, params.project_id)
    if (id === DEFAULT_PROJECT) throw conflict("The default project can't be deleted.")
    if (query.name !== name) throw invalid({ field: 'name', error: "is not this project's name" })
    const time = now()
    await projects.remove(db, id)
    await enqueue(db, { id: newId('job', time), kind: 'purge', run_at: time })
    const told = { type: 'project.deleted' as const, project_id: DEFAULT_PROJECT, agent_id: null }
    await events.emit(db, { ...told, data: () => ({ project_id: id, name }), time })
    return { id, deleted: true as const }
  },
})
