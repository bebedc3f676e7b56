import type { Budget, Client } from '../../../../sdk/client.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import type { CommandInput } from '../../from-operations/command-spec.ts'
import { storeCommands } from '../../from-operations/operation-command.ts'
import { printRecord, warn } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const FIELDS = {
  'limit.cost_usd': { flags: '--usd <amount>', about: 'the limit in US dollars' },
  'limit.tokens': 'the limit in tokens, input and output together',
  'limit.runs': 'the limit in runs',
  thresholds: {
    flags: '--at <percentages...>',
    about: 'send events at these percentages, such as 50 80 100',
    value: (given: string[]) => given.map(Number),
  },
  action: 'what happens at the limit; notify only sends events',
}

const BUDGET = { budget_id: 'budget ID or name' }

export const budgets = storeCommands('budgets', {
  createBudget: {
    about: 'Limit spending',
    args: ['name'],
    options: {
      'scope.type': '--scope <type>',
      'scope.id': {
        flags: '--for <id>',
        about: 'the agent, key or user; without it, each key or user has its own limit',
      },
      per: 'when the budget resets (default: month)',
      timezone: 'time zone in which days and months start, such as Europe/Berlin',
      ...FIELDS,
    },
    read(asked) {
      requireOneLimit(asked)
      const { body } = asked
      if (body['limit'] === undefined) throw usage('Specify a limit with --usd, --tokens or --runs.')
      body['scope'] = { type: 'project', id: null, ...(body['scope'] as object | undefined) }
      body['per'] ??= 'month'
    },
    after: warnOf,
  },
  listBudgets: {
    about: 'List budgets and how much of each is used',
    columns: {
      of: [
        'id',
        'name',
        ['SCOPE', scopeText],
        ['LIMIT', ({ limit }) => Object.entries(limit).map(([kind, amount]) => amountText(kind, amount))],
        'per',
        'used',
        'reserved',
        ['RESETS', ({ resets_at }) => resets_at ?? 'never'],
        'action',
      ],
    },
  },
  getBudget: {
    params: BUDGET,
    options: { subject: { flags: '--subject <id>', about: 'a key or user that has its own limit: show its usage' } },
    find: findBudget,
    show(world, budget) {
      const { warnings: _shown, ...record } = budget
      printRecord(world, record)
      warnOf(world, budget)
    },
  },
  updateBudget: {
    about: 'Change a budget. What is already spent stays counted',
    params: BUDGET,
    options: FIELDS,
    read: requireOneLimit,
    find: findBudget,
    done: ({ name }) => `Updated "${name}"`,
    after: warnOf,
  },
  deleteBudget: { params: BUDGET, confirm: 'Delete the budget {}?', find: findBudget },
})

/** Prints the warnings. With --json, they are part of the record. */
function warnOf(world: World, { warnings = [] }: Budget): void {
  for (const text of warnings) warn(world, text)
}

/** Finds the ID of the budget that is named by its ID or its name. Several budgets may have the same name. */
async function findBudget({ params }: CommandInput, client: Client): Promise<void> {
  const given = params['budget_id'] ?? ''
  if (given.startsWith('bud_')) return
  const found: string[] = []
  for await (const { id, name } of client.budgets.list({ limit: 100 })) if (name === given) found.push(id)
  const [id, ...others] = found
  if (id === undefined) throw new Failure(EXIT.notFound, `Budget "${given}" not found.`)
  if (others.length > 0) throw usage(`Several budgets are named "${given}". Use an ID instead: ${found.join(', ')}`)
  params['budget_id'] = id
}

function scopeText({ scope: { type, id } }: Budget): string {
  if (id !== null) return `${type} ${id}`
  return type === 'user' || type === 'key' ? `each ${type}` : type
}

function amountText(kind: string, amount: number | undefined): string {
  return kind === 'cost_usd' ? `USD ${amount}` : `${amount} ${kind}`
}

function requireOneLimit({ body }: CommandInput): void {
  const given = Object.values(Object(body['limit']))
  if (given.length > 1) throw usage('Specify only one of --usd, --tokens or --runs.')
  if (given.length === 1 && !(Number(given[0]) > 0))
    throw usage(`The limit must be a number greater than 0, not ${given[0]}.`)
}
