import type { Client, Usage, UsageRow } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { csvOf } from '../../../lib/text/csv.ts'
import { agentNames, type NameOf, type PlaceOf, projectNames, withProjectName } from '../../connect/known-names.ts'
import { usage as misuse } from '../../failure.ts'
import type { CommandInput } from '../../from-operations/command-spec.ts'
import { storeCommands } from '../../from-operations/operation-command.ts'
import { pointInTime } from '../../terminal/input.ts'
import { type Column, fieldColumn, note, print, printRows } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const SCOPE = {
  flags: '--all-projects',
  about: 'all projects; requires a key with access to all projects',
  value: (isWhole: boolean) => (isWhole ? 'service' : 'project'),
}

export const usage = storeCommands('usage', {
  getUsage: {
    name: 'show',
    about: 'Show token usage and costs',
    isDefault: true,
    options: {
      group_by: '--by <groups>',
      from: 'a duration such as 7d, or a time (default: 30d)',
      granularity: { flags: '--per <length>', about: 'one row for each' },
      scope: SCOPE,
      door: 'only usage through this channel',
      format: { flags: '--csv', about: 'print CSV', value: () => undefined },
    },
    read({ query }) {
      query['from'] ??= pointInTime('30d')
    },
    async show(world, found, { options }, client) {
      if (options['csv']) return print(world, csvOf(found.rows))
      const hasProjects = found.rows.some(({ project_id }) => project_id)
      const nameOf = await agentNames(
        client,
        found.rows.map(({ agent_id }) => agent_id ?? null),
      )
      show(world, found, nameOf, hasProjects ? await projectNames(client) : () => undefined)
    },
  },
  repriceUsage: {
    about: 'Apply current prices to past calls, their totals and receipts. If it is interrupted, run it again',
    options: {
      from: { flags: '--from <when>', about: 'the start, as a duration such as 7d or a time' },
      to: 'the end, as a duration such as 7d or a time',
      after: false,
      scope: SCOPE,
    },
    async call(client, { body, options }) {
      const sums = { looked_at: 0, changed: 0, priced: 0, change_usd: 0, next: null }
      for (let after: string | null | undefined; after !== null; ) {
        const asked = { ...body, ...(after && { after }) } as Parameters<Client['usage']['reprice']>[0]
        const done = await client.usage.reprice(asked, options)
        sums.looked_at += done.looked_at
        sums.changed += done.changed
        sums.priced += done.priced
        sums.change_usd = Number((sums.change_usd + done.change_usd).toFixed(9))
        after = done.next
      }
      return sums
    },
    json: ({ next: _none, ...sums }) => sums,
    done({ changed, looked_at, priced, change_usd }) {
      const change = `USD ${usd(Math.abs(change_usd))} ${change_usd < 0 ? 'less' : 'more'}`
      return `Repriced ${changed} of ${looked_at} calls, of which ${priced} had no price before. In total, they cost ${change}`
    },
  },
})

/** Costs are exact to a billionth of a dollar. Zeros at the end are removed from the sixth digit on. */
const usd = (cost: number | null) => (cost === null ? 'unknown' : cost.toFixed(9).replace(/0{1,3}$/, ''))

const SUMS: Column<UsageRow>[] = [
  'calls',
  ['INPUT', (row) => row.input_tokens],
  ['CACHED', (row) => row.cached_tokens],
  ['CACHE WRITE', (row) => row.cache_write_tokens],
  ['OUTPUT', (row) => row.output_tokens],
  ['REASONING', (row) => row.reasoning_tokens],
  ['USD', (row) => usd(row.cost_usd)],
]

const GROUPS = [
  'time',
  'project_id',
  'agent_id',
  'version',
  'environment',
  'key_id',
  'person_id',
  'user_id',
  'door',
  'model',
  'purpose',
] as const

function show(world: World, { rows, totals }: Usage, nameOf: NameOf, placeOf: PlaceOf): void {
  const valueOf = (row: UsageRow, name: (typeof GROUPS)[number]) => {
    if (name === 'agent_id' && row.agent_id) return nameOf(row.agent_id)
    return name === 'project_id' && row.project_id ? withProjectName(row.project_id, placeOf) : row[name]
  }
  const columns = GROUPS.filter((name) => rows[0] && name in rows[0]).map((name) => {
    return [fieldColumn(name)[0], (row: UsageRow) => valueOf(row, name)] as const
  })
  printRows(world, rows, [...columns, ...SUMS])
  if (rows.length > 1)
    note(
      world,
      `${counted(totals.total_tokens, 'token')} in ${counted(totals.calls, 'call')}, USD ${usd(totals.cost_usd)}`,
    )
  if (totals.lost_calls > 0) {
    note(
      world,
      `${counted(totals.lost_calls, 'call was', 'calls were')} in progress when their node stopped, and counted with the most they could have used`,
    )
  }
  if (totals.unpriced_calls === 0) return
  const others = totals.unpriced_calls === totals.calls ? '' : `; the others cost USD ${usd(totals.priced_cost_usd)}`
  const known = `${counted(totals.unpriced_calls, 'call has', 'calls have')} no known price${others}`
  note(world, `${known}. \`moorage prices list\` shows which models have no price, and \`moorage prices set\` sets one`)
}

export const prices = storeCommands('prices', {
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
})

/** Splits a model into the provider and the provider's own name of the model, which may contain slashes too. */
function splitModel(asked: CommandInput): void {
  const model = asked.params['model'] ?? ''
  const slash = model.indexOf('/')
  if (slash < 1 || slash === model.length - 1) throw misuse(`Name the model as provider/model: ${model}`)
  asked.params = { provider: model.slice(0, slash), model: model.slice(slash + 1) }
}
