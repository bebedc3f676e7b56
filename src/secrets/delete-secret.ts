import { z } from 'zod'
import { requireWholeProject } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { SecretParams } from './secret.ts'
import * as secrets from './store.ts'

export const deleteSecret = operation({
  id: 'deleteSecret',
  method: 'DELETE',
  path: '/v1/secrets/{name}',
  summary: 'Delete a secret',
  description: 'Tools that use the secret fail from their next call on.',
  access: { permission: 'manage' },
  mfa: { policy: 'secrets' },
  audit: { target: 'name' },
  input: { params: SecretParams },
  answer: { data: z.object({ name: z.string(), deleted: z.literal(true) }) },

  async run({ params: { name } }, { db, actor }) {
    requireWholeProject(actor, 'secrets')
    await secrets.remove(db, actor.scope.project_id, name)
    return { name, deleted: true as const }
  },
})
