import { requireWholeProject } from '../operation/scope.ts'
import { requireToolName } from '../operation/tool-name.ts'
import { operation } from '../operation.ts'
import { presentSecret, purposeOf, SecretParams, SecretReply, SetSecretBody } from './secret.ts'
import * as secrets from './store.ts'

export const setSecret = operation({
  id: 'setSecret',
  method: 'PUT',
  path: '/v1/secrets/{name}',
  summary: 'Set a secret',
  description:
    'From their next call on, tools can use the secret as `{{secret.NAME}}` in a header. The value is stored encrypted and never returned. Setting the secret again replaces the value. If `moorage.yaml` defines a secret with the same name, that one is used. Requires a key that is not limited to one agent.',
  access: { permission: 'manage' },
  mfa: { policy: 'secrets' },
  audit: { target: 'name' },
  input: { params: SecretParams, body: SetSecretBody },
  answer: { data: SecretReply, errors: ['conflict'] },

  async run({ params: { name }, body }, { db, actor, config, keyring, now }) {
    requireWholeProject(actor, 'secrets')
    requireToolName(name)
    const { project_id } = actor.scope
    const { hosts } = body
    const updated_at = now()
    const { created_at } = await secrets.put(db, {
      project_id,
      name,
      hosts,
      value: keyring.encrypt(body.value, purposeOf({ project_id, name })),
      updated_at,
    })
    return presentSecret({ name, hosts, created_at, updated_at }, config.secrets)
  },
})
