import { z } from 'zod'
import { conflict, invalid } from '../errors.ts'
import type { Needs } from '../operation/context.ts'
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
    'Cancels what runs in it and removes its agents, keys, webhooks, secrets and providers at once; their logs, metrics and memories follow in the background. The audit log keeps its entries. The event `project.deleted` goes to webhooks of the default project. Takes a key of all projects. The `security` of each agent in it applies, as if that agent were deleted: 403 if the request does not pass, and a one-time code if one of them wants it for `delete`.',
  permission: 'manage',
  reach: 'service',
  audit: { target: 'project_id' },
  mfa: 'keys',
  errors: ['conflict'],
  params: ProjectParams,
  removesProject: async ({ params }, db) => (await projects.find(db, params.project_id))?.id ?? null,
  query: z.strictObject({ name: z.string().describe('The name of the project, to be sure that this one is meant') }),
  data: z.object({ id: z.string(), deleted: z.literal(true) }),

  async run({ params, query }, { db, events, newId, now }: Needs<'db' | 'events' | 'newId' | 'now'>) {
    const { id, name } = await projects.get(db, params.project_id)
    if (id === DEFAULT_PROJECT) throw conflict('The default project cannot be deleted')
    if (query.name !== name) throw invalid({ field: 'name', error: 'is not the name of this project' })
    const time = now()
    await projects.remove(db, id)
    await enqueue(db, { id: newId('job', time), kind: 'purge', run_at: time })
    const told = { type: 'project.deleted' as const, project_id: DEFAULT_PROJECT, agent_id: null }
    await events.emit(db, { ...told, data: () => ({ project_id: id, name }), time })
    return { id, deleted: true as const }
  },
})
