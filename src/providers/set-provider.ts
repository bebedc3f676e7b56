import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { policiesOf } from '../security/outgoing/policies.ts'
import {
  ProviderParams,
  ProviderReply,
  presentStored,
  requireAddress,
  requireName,
  requireNotConfigured,
  requireWholeProject,
  SetProviderBody,
  sealKey,
} from './provider.ts'
import * as providers from './store.ts'

export const setProvider = operation({
  id: 'setProvider',
  method: 'PUT',
  path: '/v1/providers/{name}',
  summary: 'Set a model provider',
  description:
    'Agents use it as `name/model`, from their next run on. Its key is stored encrypted, and no reply ever shows it. Setting it again replaces it as a whole: without `api_key` it has none. It is called under the rules of `outgoing`, as tools are. 409 for a name that `moorage.yaml` has.',
  permission: 'manage',
  audit: { target: 'name' },
  mfa: 'secrets',
  errors: ['conflict'],
  params: ProviderParams,
  body: SetProviderBody,
  data: ProviderReply,

  async run(
    { params: { name }, body: { type, base_url, api_key, vision } },
    { db, actor, config, keyring, now }: Needs<'db' | 'actor' | 'config' | 'keyring' | 'now'>,
  ) {
    requireWholeProject(actor)
    requireName(name)
    requireNotConfigured(name, config.providers)
    requireAddress(base_url, policiesOf(config).outgoing)
    const named = { project_id: actor.scope.project_id, name }
    const sealed = { ...named, type, base_url, vision, api_key: sealKey(named, api_key, keyring), updated_at: now() }
    const { created_at } = await providers.put(db, sealed)
    return presentStored({ ...sealed, created_at })
  },
})
