import { type Command, Option } from 'commander'
import type { Client, Usage, UsageRow } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { csvOf } from '../../../lib/text/csv.ts'
import { takesStore } from '../../command.ts'
import { agentNames, type NameOf } from '../../connect/agent-names.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { type PlaceOf, projectNames, withProjectName } from '../../connect/project-names.ts'
import { pointInTime } from '../../terminal/input.ts'
import { type Column, note, print, printJson, printRows, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

type UsageQuery = NonNullable<Parameters<Client['usage']['get']>[0]>

type UsageOptions = Common & {
  by?: string
  since: string
  until?: string
  per?: 'hour' | 'day' | 'month'
  timezone?: string
  allProjects?: boolean
  agent?: string
  model?: string
  user?: string
  key?: string
  door?: string
  purpose?: string
  csv?: boolean
}

type RepriceOptions = Common & { from: string; until?: string; allProjects?: boolean }

const scopeOf = ({ allProjects }: { allProjects?: boolean }) =>
  allProjects ? ('service' as const) : ('project' as const)

export function usage(command: Command, world: World): void {
  takesStore(command.command('show', { isDefault: true }))
    .description('Sums of tokens and costs')
    .option(
      '--by <groups>',
      'model, agent, project, version, environment, key, person, user, door, purpose; with commas',
    )
    .option('--since <when>', 'a duration such as 7d, or a time', '30d')
    .option('--until <when>', 'the same')
    .addOption(new Option('--per <length>', 'a row for each').choices(['hour', 'day', 'month']))
    .option('--timezone <name>', 'whose days and months, such as Europe/Berlin')
    .option('--agent <agent>', 'only of this agent, by its id or name')
    .option('--model <model>', 'only of this model')
    .option('--user <id>', 'only for this user')
    .option('--key <id>', 'only with this key')
    .option('--door <door>', 'only through this door, such as openai')
    .option('--purpose <purpose>', 'only for this purpose, such as summary')
    .option('--all-projects', 'of all projects, with a key of all projects')
    .option('--csv', 'print CSV')
    .action(async (options: UsageOptions) => {
      await withClientOrStore(world, options, async (client) => {
        const found = await client.usage.get({
          group_by: options.by,
          from: pointInTime(options.since),
          to: options.until && pointInTime(options.until),
          granularity: options.per,
          timezone: options.timezone,
          agent_id: options.agent,
          model: options.model,
          user_id: options.user,
          key_id: options.key,
          door: options.door as UsageQuery['door'],
          purpose: options.purpose as UsageQuery['purpose'],
          scope: scopeOf(options),
        })
        if (options.json) return printJson(world, found)
        if (options.csv) return print(world, csvOf(found.rows))
        const hasProjects = found.rows.some(({ project_id }) => project_id)
        const nameOf = await agentNames(
          client,
          found.rows.map(({ agent_id }) => agent_id ?? null),
        )
        show(world, found, nameOf, hasProjects ? await projectNames(client) : () => undefined)
      })
    })

  takesStore(command.command('reprice'))
    .description(
      'Apply the prices of now to past calls, their sums and receipts; it may be interrupted and begun again',
    )
    .requiredOption('--from <when>', 'calls since then: a duration such as 7d, or a time')
    .option('--until <when>', 'and before then')
    .option('--all-projects', 'of all projects, with a key of all projects')
    .action(async (options: RepriceOptions) => {
      const until = options.until && pointInTime(options.until)
      const body = { from: pointInTime(options.from), ...(until && { to: until }), scope: scopeOf(options) }
      const sums = { looked_at: 0, changed: 0, priced: 0, change_usd: 0 }
      await withClientOrStore(world, options, async (client) => {
        for (let after: string | null | undefined; after !== null; ) {
          const done = await client.usage.reprice({ ...body, ...(after && { after }) }, options)
          sums.looked_at += done.looked_at
          sums.changed += done.changed
          sums.priced += done.priced
          sums.change_usd = Number((sums.change_usd + done.change_usd).toFixed(9))
          after = done.next
        }
      })
      if (options.json) return printJson(world, sums)
      const { looked_at, changed, priced, change_usd } = sums
      success(
        world,
        `${changed} of ${looked_at} calls cost something else now, ${priced} had no price: USD ${usd(Math.abs(change_usd))} ${change_usd < 0 ? 'less' : 'more'}`,
      )
    })
}

/** Costs are exact to a billionth. Zeros at the end are left out, from the sixth digit on. */
const usd = (cost: number | null) => (cost === null ? 'unknown' : cost.toFixed(9).replace(/0{1,3}$/, ''))

const SUMS: Column<UsageRow>[] = [
  { title: 'CALLS', of: (row) => row.calls },
  { title: 'INPUT', of: (row) => row.input_tokens },
  { title: 'CACHED', of: (row) => row.cached_tokens },
  { title: 'OUTPUT', of: (row) => row.output_tokens },
  { title: 'REASONING', of: (row) => row.reasoning_tokens },
  { title: 'USD', of: (row) => usd(row.cost_usd) },
]

const NAMES = {
  time: 'TIME',
  project_id: 'PROJECT',
  agent_id: 'AGENT',
  version: 'VERSION',
  environment: 'ENVIRONMENT',
  key_id: 'KEY',
  person_id: 'PERSON',
  user_id: 'USER',
  door: 'DOOR',
  model: 'MODEL',
  purpose: 'PURPOSE',
} as const

function show(world: World, { rows, totals }: Usage, nameOf: NameOf, placeOf: PlaceOf): void {
  const names = Object.keys(NAMES) as (keyof typeof NAMES)[]
  const grouped = names.filter((name) => rows[0] && name in rows[0])
  const valueOf = (row: UsageRow, name: keyof typeof NAMES) => {
    if (name === 'agent_id' && row.agent_id) return nameOf(row.agent_id)
    return name === 'project_id' && row.project_id ? withProjectName(row.project_id, placeOf) : row[name]
  }
  const columns = grouped.map((name) => ({ title: NAMES[name], of: (row: UsageRow) => valueOf(row, name) }))
  printRows(world, rows, [...columns, ...SUMS], {})
  if (rows.length > 1)
    note(
      world,
      `${counted(totals.total_tokens, 'token')} in ${counted(totals.calls, 'call')}, USD ${usd(totals.cost_usd)}`,
    )
  if (totals.lost_calls > 0) {
    note(
      world,
      `${counted(totals.lost_calls, 'call was', 'calls were')} under way when the node died, and counted with the most that may be used`,
    )
  }
  if (totals.unpriced_calls === 0) return
  const others = totals.unpriced_calls === totals.calls ? '' : `; the others cost USD ${usd(totals.priced_cost_usd)}`
  const known = `${counted(totals.unpriced_calls, 'call has', 'calls have')} no known price${others}`
  note(world, `${known}. \`moorage prices list\` shows which are missing, and \`moorage prices set\` sets one`)
}
