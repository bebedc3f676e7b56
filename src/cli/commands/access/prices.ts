import type { Command } from 'commander'
import type { Price } from '../../../../sdk/client.ts'
import { number, takesStore, yesOption } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { type Column, printDone } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<Price>[] = [
  { title: 'MODEL', of: (price) => price.model },
  { title: 'INPUT', of: (price) => price.input },
  { title: 'CACHED', of: (price) => price.cached_input },
  { title: 'OUTPUT', of: (price) => price.output },
  { title: 'REASONING', of: (price) => price.reasoning },
  { title: 'REQUEST', of: (price) => price.request },
  { title: 'FROM', of: ({ source, version }) => (version === null ? source : `${source} ${version}`) },
]

type SetOptions = Common & {
  input: number
  output: number
  cachedInput?: number
  reasoning?: number
  request?: number
}

export function prices(command: Command, world: World): void {
  takesStore(command.command('set'))
    .description('Set what a model costs, in USD for a million tokens')
    .argument('<model>', 'such as local/llama-3.3-70b, or local/* for all other models of a provider')
    .requiredOption('--input <usd>', 'input', number)
    .requiredOption('--output <usd>', 'output', number)
    .option('--cached-input <usd>', 'input that the provider had in its cache; default: as input', number)
    .option('--reasoning <usd>', 'output that was thought and not said; default: as output', number)
    .option('--request <usd>', 'each request; default: 0', number)
    .action(async (model: string, { input, output, cachedInput, reasoning, request, ...options }: SetOptions) => {
      const body = { input, output, cached_input: cachedInput, reasoning, request }
      const price = await withClientOrStore(world, options, (client) =>
        client.prices.set(...partsOf(model), body, options),
      )
      printDone(
        world,
        price,
        options,
        `Set the price of ${price.model}; \`moorage usage reprice --from 30d\` applies it to the past 30 days`,
      )
    })

  takesStore(command.command('list'))
    .alias('ls')
    .description('List what models cost, and where that is from')
    .addOption(limitOption())
    .action(async (options: Common & Limit) => {
      await withClientOrStore(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.prices.list({ limit })),
      )
    })

  takesStore(command.command('delete'))
    .alias('rm')
    .description('Delete a price that was set; those in moorage.yaml stay')
    .argument('<model>')
    .addOption(yesOption())
    .action(async (model: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Delete the price of ${model}?`, options)
      const deleted = await withClientOrStore(world, options, (client) =>
        client.prices.delete(...partsOf(model), options),
      )
      printDone(world, deleted, options, `Deleted the price of ${model}`)
    })
}

/** The provider, and its name for the model, which may have slashes too. */
function partsOf(model: string): [provider: string, id: string] {
  const slash = model.indexOf('/')
  if (slash < 1 || slash === model.length - 1) throw usage(`Name the model as provider/model: ${model}`)
  return [model.slice(0, slash), model.slice(slash + 1)]
}
