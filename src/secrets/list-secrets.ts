import { requireWholeProject } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { presentSecret, SecretReply } from './secret.ts'
import * as secrets from './store.ts'

export const listSecrets = operation({
  id: 'listSecrets',
  method: 'GET',
  path: '/v1/secrets',
  summary: 'List secrets',
  description: 'Returns names and hosts, never values. Secrets from `moorage.yaml` are not listed.',
  access: { permission: 'manage' },
  input: { query: listQuery(['created_at', 'updated_at', 'name'], {}) },
  answer: { list: SecretReply },

  async run({ query }, { db, actor, config }) {
    requireWholeProject(actor, 'secrets')
    const { items, total } = await secrets.list(db, actor.scope.project_id, query)
    return { items: items.map((secret) => presentSecret(secret, config.secrets)), total }
  },
})
