import { type Command, Option } from 'commander'
import type { Client, Provider } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { takesStore, yesOption } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { EXIT, Failure } from '../../failure.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { parseJson } from '../../terminal/input.ts'
import { type Column, printDone, printRows } from '../../terminal/output.ts'
import { confirm, readSecret } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<Provider>[] = [
  { title: 'NAME', of: (provider) => provider.name },
  { title: 'TYPE', of: (provider) => provider.type },
  { title: 'ADDRESS', of: (provider) => provider.base_url ?? '(the vendor)' },
  { title: 'KEY', of: (provider) => (provider.has_key ? 'set' : 'none') },
  { title: 'FROM', of: (provider) => (provider.source === 'api' ? 'api' : 'moorage.yaml') },
]

const UNTESTED = '. The list is public, so the key is not tested: have a model answer with --model'

type SetOptions = Common & { type: Provider['type']; baseUrl?: string; vision?: string; key: boolean }

export function providers(command: Command, world: World): void {
  takesStore(command.command('set'))
    .description(
      'Set a model provider that agents use as name/model; its key is asked for, or read from stdin. Empty: the stored key stays',
    )
    .argument('<name>', 'such as openai')
    .addOption(
      new Option('--type <type>', 'the protocol that it speaks')
        .choices(['openai-compatible', 'openai', 'anthropic'])
        .default('openai-compatible'),
    )
    .option('--base-url <url>', 'its address, such as https://llm.example.com/v1')
    .option(
      '--vision <json>',
      'whether its models accept images: true, false or {"model": true}. Without it, as stored',
    )
    .option('--no-key', 'it wants no key')
    .action(async (name: string, { type, baseUrl, vision, key, ...options }: SetOptions) => {
      const images = vision === undefined ? undefined : (parseJson(vision, '--vision') as Provider['vision'])
      const typed = key ? await readSecret(world, 'API key (empty: as it is stored)') : null
      const body = { type, base_url: baseUrl ?? null, ...(typed !== '' && { api_key: typed }) }
      const provider = await withClientOrStore(world, options, async (client) => {
        const kept = images === undefined ? await storedVision(client, name) : images
        return client.providers.set(name, { ...body, vision: kept }, options)
      })
      const keyless = provider.has_key ? '' : ', without a key'
      printDone(world, provider, options, `Set ${provider.name}${keyless}: agents use it as ${name}/<model>`)
    })

  takesStore(command.command('list'))
    .alias('ls')
    .description('List model providers, with those of moorage.yaml; never their keys')
    .addOption(limitOption())
    .action(async (options: Common & Limit) => {
      await withClientOrStore(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.providers.list({ limit })),
      )
    })

  takesStore(command.command('models'))
    .description('List the models that a provider says it has')
    .argument('<name>')
    .action(async (name: string, options: Common) => {
      const { models, error } = await withClientOrStore(world, options, (client) =>
        client.providers.models(name, options),
      )
      if (error !== null) throw new Failure(EXIT.failed, error)
      printRows(world, models, [{ title: 'MODEL', of: ({ model }) => model }], options)
    })

  takesStore(command.command('test'))
    .description('Ask a provider for its models, or have one of them answer, which also tests the key')
    .argument('<name>')
    .option('--model <model>', 'have this model answer one short message')
    .action(async (name: string, { model, ...options }: Common & { model?: string }) => {
      const body = model === undefined ? {} : { model }
      const { ok, error, key, models } = await withClientOrStore(world, options, (client) =>
        client.providers.test(name, body, options),
      )
      if (!ok) throw new Failure(EXIT.failed, error ?? 'It did not answer')
      const told = { accepted: ' and accepted the key', untested: UNTESTED, none: '' }[key]
      const words =
        model === undefined ? `${name} listed ${counted(models, 'model')}${told}` : `${name}/${model} answers`
      printDone(world, { ok, key, models }, options, words)
    })

  takesStore(command.command('remove'))
    .alias('rm')
    .description('Delete a model provider; agents that name it fail from then on')
    .argument('<name>')
    .addOption(yesOption())
    .action(async (name: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Delete ${name}? Agents that name it fail from then on.`, options)
      const deleted = await withClientOrStore(world, options, (client) => client.providers.delete(name, options))
      printDone(world, deleted, options, `Deleted ${name}`)
    })
}

/** Setting a provider replaces it as a whole, so what was not named is sent again. */
async function storedVision(client: Pick<Client, 'providers'>, name: string): Promise<Provider['vision']> {
  for await (const provider of client.providers.list({ limit: 100 })) {
    if (provider.name === name && provider.source === 'api') return provider.vision
  }
  return null
}
