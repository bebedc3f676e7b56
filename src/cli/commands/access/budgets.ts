import type { Command } from 'commander'
import type { CreateBudget } from '../../../../sdk/api.ts'
import type { Budget, Client } from '../../../../sdk/client.ts'
import { list, takesStore, yesOption } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { type Column, printDone, printRecord, warn } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<Budget>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'SCOPE', of: scopeText },
  { title: 'LIMIT', of: ({ limit }) => Object.entries(limit).map(([kind, amount]) => amountText(kind, amount)) },
  { title: 'PER', of: ({ per }) => per },
  { title: 'USED', of: ({ used }) => used },
  { title: 'HELD', of: ({ reserved }) => reserved },
  { title: 'RESETS', of: ({ resets_at }) => resets_at ?? 'never' },
  { title: 'ACTION', of: ({ action }) => action },
]

type Changes = Common & {
  usd?: string
  tokens?: string
  runs?: string
  at?: string[]
  action?: Budget['action']
}

type New = Changes & {
  scope: CreateBudget['scope']['type']
  for?: string
  per: Budget['per']
  timezone?: string
}

export function budgets(command: Command, world: World): void {
  takesLimit(takesStore(command.command('create')))
    .description('Limit what may be spent')
    .argument('<name>', 'what it is for')
    .option('--scope <type>', 'service, project, agent, key or user', 'project')
    .option('--for <id>', 'the agent, key or user; without it each key or user has the limit for itself')
    .option('--per <period>', 'hour, day, month or ever', 'month')
    .option('--timezone <name>', 'where days and months begin, such as Europe/Berlin')
    .action(async (name: string, options: New) => {
      const limit = limitOf(options)
      if (!limit) throw usage('Say how much: --usd, --tokens or --runs')
      const { scope: type, for: id = null, per, timezone, action } = options
      const body = { name, scope: { type, id }, limit, per, timezone, action, thresholds: options.at?.map(Number) }
      const made = await withClientOrStore(world, options, (client) => client.budgets.create(body, options))
      printDone(world, made, options, `Created ${made.id} "${made.name}"`)
      warnOf(world, made, options)
    })

  takesStore(command.command('list'))
    .alias('ls')
    .description('List budgets, with what was spent of each')
    .addOption(limitOption())
    .action(async (options: Common & Limit) => {
      await withClientOrStore(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.budgets.list({ limit })),
      )
    })

  takesStore(command.command('get'))
    .description('Show a budget')
    .argument('<budget>', 'id or name')
    .option('--subject <id>', 'the sums of this key or user, if each has the limit for itself')
    .action(async (given: string, options: Common & { subject?: string }) => {
      const { subject } = options
      const found = await withClientOrStore(world, options, async (client) =>
        client.budgets.get(await findBudget(client, given), { subject }),
      )
      const { warnings: _told, ...record } = found
      printRecord(world, options.json ? found : record, options)
      warnOf(world, found, options)
    })

  takesLimit(takesStore(command.command('update')))
    .description('Change a budget; what was spent stays counted')
    .argument('<budget>', 'id or name')
    .option('--name <name>', 'its new name')
    .action(async (given: string, options: Changes & { name?: string }) => {
      const { name, action } = options
      const body = { name, limit: limitOf(options), action, thresholds: options.at?.map(Number) }
      if (Object.values(body).every((value) => value === undefined)) throw usage('Say what to change: see --help')
      const changed = await withClientOrStore(world, options, async (client) =>
        client.budgets.update(await findBudget(client, given), body, options),
      )
      printDone(world, changed, options, `Changed "${changed.name}"`)
      warnOf(world, changed, options)
    })

  takesStore(command.command('delete'))
    .alias('rm')
    .description('Delete a budget: it limits nothing from now on')
    .argument('<budget>', 'id or name')
    .addOption(yesOption())
    .action(async (given: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Delete the budget ${given}?`, options)
      const deleted = await withClientOrStore(world, options, async (client) =>
        client.budgets.delete(await findBudget(client, given), options),
      )
      printDone(world, deleted, options, `Deleted ${given}`)
    })
}

/** With --json they are in the record. */
function warnOf(world: World, { warnings = [] }: Budget, { json }: Common): void {
  if (!json) for (const text of warnings) warn(world, text)
}

/** The id of the budget that is named by its id or its name. Several may have one name. */
async function findBudget(client: Client, given: string): Promise<string> {
  if (given.startsWith('bud_')) return given
  const found: string[] = []
  for await (const { id, name } of client.budgets.list({ limit: 100 })) if (name === given) found.push(id)
  const [id, ...others] = found
  if (id === undefined) throw new Failure(EXIT.notFound, `There is no budget "${given}"`)
  if (others.length > 0) throw usage(`Several budgets are called "${given}", give an id: ${found.join(', ')}`)
  return id
}

function scopeText({ scope: { type, id } }: Budget): string {
  if (id !== null) return `${type} ${id}`
  return type === 'user' || type === 'key' ? `each ${type}` : type
}

function amountText(kind: string, amount: number | undefined): string {
  return kind === 'cost_usd' ? `USD ${amount}` : `${amount} ${kind}`
}

function takesLimit(command: Command): Command {
  return command
    .option('--usd <amount>', 'the limit in US dollars')
    .option('--tokens <count>', 'the limit in tokens, input and output together')
    .option('--runs <count>', 'the limit in runs')
    .option('--at <percentages...>', 'when events tell, such as 50 80 100', list)
    .option('--action <action>', 'refuse, or notify, which only tells')
}

function limitOf({ usd, tokens, runs }: Changes): CreateBudget['limit'] | undefined {
  const given = Object.entries({ cost_usd: usd, tokens, runs }).filter(([, amount]) => amount !== undefined)
  if (given.length > 1) throw usage('Say how much in one way: --usd, --tokens or --runs')
  const wrong = given.find(([, amount]) => !(Number(amount) > 0))
  if (wrong) throw usage(`The limit is a number above 0, not ${JSON.stringify(wrong[1])}`)
  return given.length === 0 ? undefined : Object.fromEntries(given.map(([kind, amount]) => [kind, Number(amount)]))
}
