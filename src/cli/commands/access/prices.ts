import type { Command } from 'commander'
import { usage } from '../../failure.ts'
import type { CommandInput, CommandSpecs } from '../../from-operations/command-spec.ts'
import { addOperations } from '../../from-operations/operation-command.ts'
import type { World } from '../../world.ts'

const SPECS: CommandSpecs = {
  setPrice: {
    about: 'Set what a model costs, in USD per million tokens',
    params: {
      provider: false,
      model: 'model such as local/llama-3.3-70b, or local/* for all other models of a provider',
    },
    read: splitModel,
    done: ({ model }) =>
      `Set the price of ${model}. To apply it to the past 30 days: \`moorage usage reprice --from 30d\``,
  },
  listPrices: {
    about: 'Show model prices and where they come from',
    columns: {
      of: [
        'model',
        'input',
        ['CACHED', ({ cached_input }) => cached_input],
        ['CACHE WRITE', ({ cache_write }) => cache_write],
        'output',
        'reasoning',
        'request',
        ['FROM', ({ source, version }) => (version === null ? source : `${source} ${version}`)],
      ],
    },
  },
  deletePrice: {
    about: 'Delete a price that was set here. Prices in moorage.yaml stay',
    params: { provider: false, model: 'model' },
    read: splitModel,
    confirm: 'Delete the price of {}?',
    done: 'Deleted the price of {}',
  },
}

export function prices(command: Command, world: World): void {
  addOperations(command, world, 'prices', SPECS, { local: true })
}

/** Splits a model into the provider and the provider's own name of the model, which may contain slashes too. */
function splitModel(asked: CommandInput): void {
  const model = asked.params['model'] ?? ''
  const slash = model.indexOf('/')
  if (slash < 1 || slash === model.length - 1) throw usage(`Name the model as provider/model: ${model}`)
  asked.params = { provider: model.slice(0, slash), model: model.slice(slash + 1) }
}
