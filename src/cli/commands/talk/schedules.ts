import type { Command } from 'commander'
import type { Client, Schedule, ScheduleWithRuns } from '../../../../sdk/client.ts'
import { withoutUndefined } from '../../../lib/without-undefined.ts'
import { takesService, yesOption } from '../../command.ts'
import { type Common, sameWay, withClient } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { readMessage, timeAhead } from '../../terminal/input.ts'
import { type Column, note, print, printDone, printJson, printRecord, success } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'
import { attachables, attachOption } from './files.ts'
import { bodyOf, onBudgetOption, type TalkOptions, takesTalk } from './invoke.ts'

const COLUMNS: Column<Schedule>[] = [
  { title: 'ID', of: (schedule) => schedule.id },
  { title: 'NAME', of: (schedule) => schedule.name },
  { title: 'WHEN', of: whenOf },
  { title: 'NEXT', of: nextOf },
  { title: 'LAST', of: (schedule) => schedule.last_tick_at },
  { title: 'MISSED', of: (schedule) => schedule.missed },
  { title: 'SKIPPED', of: (schedule) => schedule.skipped },
  { title: 'MESSAGE', of: (schedule) => schedule.message },
]

function whenOf({ cron, timezone, every, at }: Schedule): string {
  return cron === null ? (every === null ? `at ${at}` : `every ${every}`) : `${cron} (${timezone})`
}

/** The next tick, or why none comes. */
function nextOf({ next_at, enabled, disabled_reason }: Schedule): string | null {
  if (next_at !== null || enabled) return next_at
  return disabled_reason === 'requested' ? 'paused' : disabled_reason
}

type Body = Parameters<Client['schedules']['update']>[2]

type FieldOptions = TalkOptions & {
  name?: string
  cron?: string
  timezone?: string
  every?: string
  at?: string
  overlap?: Schedule['overlap']
  catchUp?: Schedule['catch_up']
  onBudget?: Schedule['on_budget']
  attach?: string[]
}

export function schedules(command: Command, world: World): void {
  takesFields(takesService(command.command('create')))
    .description('Ask an agent again and again, or once at a later time')
    .argument('<agent>', 'id or name')
    .argument('[message...]', 'what to ask; without it stdin is read')
    .option('--disabled', 'let no tick come until `moorage schedules resume`')
    .action(async (agent: string, words: string[], options: FieldOptions & { disabled?: boolean }) => {
      const when = [options.cron, options.every, options.at].filter((given) => given !== undefined)
      if (when.length !== 1)
        throw usage('Say when, in one way: --cron "0 9 * * MON-FRI", --every 1h or --at 2027-01-01T09:00:00Z')
      const message = await readMessage(world, words)
      const body = { ...(await fieldsOf(world, options)), message, enabled: !options.disabled }
      const schedule = await withClient(world, options, (client) => client.schedules.create(agent, body, options))
      if (options.json) return printJson(world, schedule)
      print(world, schedule.id)
      tellNext(world, schedule)
    })

  takesService(command.command('list'))
    .alias('ls')
    .description('List the schedules of an agent')
    .argument('<agent>', 'id or name')
    .addOption(limitOption())
    .action(async (agent: string, options: Common & Limit) => {
      await withClient(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.schedules.list(agent, { limit })),
      )
    })

  takesService(command.command('get'))
    .alias('show')
    .description('Show a schedule and its next ticks')
    .argument('<agent>', 'id or name')
    .argument('<schedule_id>')
    .action(async (agent: string, id: string, options: Common) => {
      printRecord(world, await withClient(world, options, (client) => client.schedules.get(agent, id)), options)
    })

  addChanges(command, world)

  takesService(command.command('delete'))
    .alias('rm')
    .description('Delete a schedule; what it has begun goes on')
    .argument('<agent>', 'id or name')
    .argument('<schedule_id>')
    .addOption(yesOption())
    .action(async (agent: string, id: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Delete ${id}?`, options)
      const deleted = await withClient(world, options, (client) => client.schedules.delete(agent, id, options))
      printDone(world, deleted, options, `Deleted ${id}`)
    })

  takesService(command.command('run'))
    .description('Begin a run now, as a tick would, and print its request id')
    .argument('<agent>', 'id or name')
    .argument('<schedule_id>')
    .action(async (agent: string, id: string, options: Common) => {
      const queued = await withClient(world, options, (client) => client.schedules.run(agent, id, options))
      if (options.json) return printJson(world, queued)
      print(world, queued.request_id)
      const follow = sameWay(options, `invocations follow ${agent} ${queued.request_id}`)
      note(world, `  To read the answer: ${follow}`)
    })
}

/** The commands that change a schedule. */
function addChanges(command: Command, world: World): void {
  const change = async (agent: string, id: string, body: Body, options: Common & Pick<TalkOptions, 'context'>) => {
    const schedule = await withClient(world, options, async (client) => {
      const isWhole = body.context === undefined || options.context !== undefined
      // The service replaces the context as a whole. A one-time code is for the change alone.
      const { context } = isWhole ? body : await client.schedules.get(agent, id, { ...options, otp: undefined })
      const merged = isWhole ? body : { ...body, context: { ...context, ...body.context } }
      return client.schedules.update(agent, id, merged, options)
    })
    if (options.json) return printJson(world, schedule)
    success(world, `Updated ${id}`)
    tellNext(world, schedule)
  }

  takesFields(takesService(command.command('update')))
    .description('Change when a schedule asks, or what')
    .argument('<agent>', 'id or name')
    .argument('<schedule_id>')
    .option('-m, --message <text>', 'what to ask from now on')
    .action(async (agent: string, id: string, options: FieldOptions & { message?: string }) => {
      const { message } = options
      const body = { ...(await fieldsOf(world, options)), ...(message !== undefined && { message }) }
      if (Object.keys(body).length === 0) throw usage('Say what to change, such as --every 2h')
      await change(agent, id, body, options)
    })

  for (const [name, enabled, description] of [
    ['pause', false, 'Let no tick of a schedule come'],
    ['resume', true, 'Let the ticks of a schedule come again'],
  ] as const) {
    takesService(command.command(name))
      .description(description)
      .argument('<agent>', 'id or name')
      .argument('<schedule_id>')
      .action((agent: string, id: string, options: Common) => change(agent, id, { enabled }, options))
  }
}

function takesFields(command: Command): Command {
  return takesTalk(command)
    .option('--cron <pattern>', 'five fields, such as "0 9 * * MON-FRI", or @daily')
    .option('--timezone <name>', 'of the pattern, such as Europe/Berlin (UTC)')
    .option('--every <duration>', 'an interval, such as 15m or 2h')
    .option('--at <time>', 'once: 2027-01-01T09:00:00Z, or 30m from now', timeAhead)
    .option('--overlap <what>', 'while an earlier run goes on: skip or queue (skip)')
    .option('--catch-up <what>', 'one run for the ticks that were missed: none or one (none)')
    .addOption(onBudgetOption('when a budget has no room'))
    .addOption(attachOption())
    .option('--name <text>', 'what it is for')
}

/** The fields that the options name. */
async function fieldsOf(world: World, options: FieldOptions): Promise<Body> {
  const { name, cron, timezone, every, at, overlap, environment, user, session, context } = options
  const { catchUp: catch_up, onBudget: on_budget } = options
  const isAbout = [user, session, context].some((given) => given !== undefined)
  const talk = isAbout ? bodyOf(options) : { environment }
  const attachments = options.attach && (await attachables(world, options.attach))
  return withoutUndefined({ name, cron, timezone, every, at, overlap, catch_up, on_budget, attachments, ...talk })
}

function tellNext(world: World, { next_at, disabled_reason }: ScheduleWithRuns): void {
  note(world, next_at === null ? `  No tick comes${disabled_reason ? '' : ' now'}` : `  The next tick is at ${next_at}`)
}
