import { z } from 'zod'
import { requireWholeProject } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { ProviderParams } from './provider.ts'
import * as providers from './store.ts'

export const deleteProvider = operation({
  id: 'deleteProvider',
  method: 'DELETE',
  path: '/v1/providers/{name}',
  summary: 'Delete a model provider',
  description:
    'Agents that use the provider fail from their next run on. Only providers set through the API can be deleted; a provider with the same name in `moorage.yaml` stays.',
  access: { permission: 'manage' },
  mfa: { policy: 'secrets' },
  audit: { target: 'name' },
  input: { params: ProviderParams },
  answer: { data: z.object({ name: z.string(), deleted: z.literal(true) }) },

  async run({ params: { name } }, { db, actor }) {
    requireWholeProject(actor, 'providers')
    await providers.remove(db, actor.scope.project_id, name)
    return { name, deleted: true as const }
  },
})
