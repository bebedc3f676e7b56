import { requireWholeProject } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { policiesOf } from '../security/outgoing/policies.ts'
import {
  ProviderParams,
  ProviderReply,
  presentStored,
  requireAddress,
  requireKeyAgain,
  requireName,
  requireNotConfigured,
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
    'From their next run on, agents can use models of this provider as `name/model`. The API key is stored encrypted and never returned. Setting the provider again replaces it as a whole; without `api_key`, the stored key is kept. If the origin of `base_url` changes, the request must contain `api_key`, or it fails with 400. Calls to the provider follow the rules of `outgoing`, like those of tools. If `moorage.yaml` defines the name, the request fails with 409. Requires a key that is not limited to one agent.',
  access: { permission: 'manage' },
  mfa: { policy: 'secrets' },
  audit: { target: 'name' },
  input: { params: ProviderParams, body: SetProviderBody },
  answer: { data: ProviderReply, errors: ['conflict'] },

  async run(
    { params: { name }, body: { type, base_url, api_key, vision, cache } },
    { db, actor, config, keyring, now },
  ) {
    requireWholeProject(actor, 'providers')
    requireName(name)
    requireNotConfigured(name, config.providers)
    requireAddress(base_url, policiesOf(config).outgoing)
    const named = { project_id: actor.scope.project_id, name }
    const wanted = { ...named, type, base_url, vision, cache, paid_by: actor.reach, updated_at: now() }
    if (api_key !== undefined) {
      return presentStored(await providers.put(db, { ...wanted, api_key: sealKey(named, api_key, keyring) }))
    }
    const known = await providers.find(db, named)
    requireKeyAgain(wanted, known)
    return presentStored(await providers.putKeepingKey(db, wanted, known))
  },
})
