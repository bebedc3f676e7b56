import type { Client, Provider } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { storeCommands } from '../../from-operations/operation-command.ts'
import { printRows, warn } from '../../terminal/output.ts'
import { readSecret } from '../../terminal/prompts.ts'

const UNTESTED =
  '. The list is public, so the key was not tested. To test the key, send a message to a model with --model'

export const providers = storeCommands('providers', {
  setProvider: {
    about:
      'Set a model provider that agents use as name/model. Asks for its key, or reads it from stdin. If you enter nothing, the stored key is kept',
    options: {
      type: '--type <type>',
      base_url: { flags: '--base-url <url>', about: 'its URL, such as https://llm.example.com/v1' },
      vision: 'whether its models accept images: true, false or {"model": true} (default: unchanged)',
      cache: 'whether prompts are marked for the cache of an anthropic provider: true or false (default: unchanged)',
      api_key: false,
    },
    more: (command) => command.option('--no-key', 'the provider requires no key'),
    async read({ body, options }, world) {
      const typed = options['key'] === false ? null : await readSecret(world, 'API key (empty: keep the stored key)')
      body['base_url'] ??= null
      if (typed !== '') body['api_key'] = typed
    },
    async find({ params, body }, client) {
      if (body['vision'] !== undefined && body['cache'] !== undefined) return
      Object.assign(body, { ...(await storedSettings(client, params['name'] ?? '')), ...body })
    },
    done: ({ name, has_key }) => `Set ${name}${has_key ? '' : ', without a key'}: agents use it as ${name}/<model>`,
  },
  listProviders: {
    about: 'List model providers, including those in moorage.yaml; never their keys',
    columns: {
      of: [
        'name',
        'type',
        ['URL', ({ base_url }) => base_url ?? "(the vendor's)"],
        ['KEY', ({ has_key }) => (has_key ? 'set' : 'none')],
        ['FROM', ({ source }) => (source === 'api' ? 'api' : 'moorage.yaml')],
      ],
    },
  },
  listProviderModels: {
    name: 'models',
    about: "List a provider's models",
    async call(client, { params, options }) {
      const found = await client.providers.models(params['name'] ?? '', options)
      if (found.error !== null) throw new Failure(EXIT.failed, found.error)
      return found
    },
    json: ({ models }) => models,
    show: (world, { models }) => printRows(world, models, ['model']),
  },
  testProvider: {
    about: 'Test a provider: list its models, or let one of them answer, which also tests the key',
    options: { model: 'let this model answer one short message' },
    async call(client, { params, body, options }) {
      const tested = await client.providers.test(params['name'] ?? '', body, options)
      if (!tested.ok) throw new Failure(EXIT.failed, tested.error ?? 'The provider did not answer.')
      return tested
    },
    json: ({ ok, key, models }) => ({ ok, key, models }),
    done({ key, models }, { params: { name }, body: { model } }) {
      const told = { accepted: ' and accepted the key', untested: UNTESTED, none: '' }[key]
      return model === undefined ? `${name} listed ${counted(models, 'model')}${told}` : `${name}/${model} answers`
    },
  },
  deleteProvider: {
    name: 'remove',
    about: 'Delete a model provider. Agents that use it fail from then on',
    confirm: 'Delete {}? Agents that use it fail from then on.',
  },
})

/** Setting a provider replaces it completely, so the settings that were not given are sent again. */
async function storedSettings(client: Pick<Client, 'providers'>, name: string): Promise<Partial<Provider>> {
  for await (const provider of client.providers.list({ limit: 100 })) {
    if (provider.name === name && provider.source === 'api') {
      const { vision, cache } = provider
      return { vision, cache }
    }
  }
  return {}
}

export const secrets = storeCommands('secrets', {
  setSecret: {
    about: 'Set a secret that tools use as {{secret.NAME}}. Asks for the value, or reads it from stdin',
    options: { value: false },
    async read({ body }, world) {
      if (body['hosts'] === undefined) {
        throw usage('Specify the hosts the secret can be sent to: --hosts api.example.com')
      }
      body['value'] = await readSecret(world, 'Value')
      if (body['value'] !== '') return
      throw usage('Specify the value on stdin: moorage secrets set <name> --hosts <host> < value.txt')
    },
    done: ({ name, hosts }) => `Set ${name} for ${hosts.join(', ')}`,
    after(world, { overridden }) {
      if (overridden) warn(world, 'moorage.yaml defines a secret with the same name, and that one is used.')
    },
  },
  listSecrets: {
    about: 'List secrets: names and hosts, never values',
    query: { sort: 'name' },
    columns: {
      of: ['name', 'hosts', 'updated_at', ['OVERRIDDEN', ({ overridden }) => (overridden ? 'by moorage.yaml' : 'no')]],
    },
  },
  deleteSecret: {
    name: 'remove',
    about: 'Delete a secret. Tools that use it fail from then on',
    confirm: 'Delete {}? Tools that use it fail from then on.',
  },
})
