import type { Command } from 'commander'
import type { Client, Schedule } from '../../../../sdk/client.ts'
import { sameWay } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import type { CommandInput, CommandSpec } from '../../from-operations/command-spec.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'
import { note, print } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import { attachables, attachOption } from './files.ts'
import { bodyOf, type TalkOptions, takesTalk } from './invoke.ts'

/** Fields whose options are those of `invoke`, and one field that `pause` and `resume` set. */
const FIELDS = {
  context: false,
  environment: false,
  attachments: false,
  enabled: false,
  name: { flags: '--name <text>' },
  at: { flags: '--at <time>', about: 'one run: at 2027-01-01T09:00:00Z, or in 30m' },
} as const

const takesFields = (command: Command) => takesTalk(command).addOption(attachOption())

const enabling = (enabled: boolean): CommandSpec<'updateSchedule'> => ({
  only: true,
  read: ({ body }) => void (body['enabled'] = enabled),
  after: tellNext,
})

export const schedules = serviceCommands('schedules', {
  createSchedule: {
    about: 'Run an agent on a schedule, or once at a later time',
    args: ['message...'],
    stdin: true,
    options: FIELDS,
    more: (command) => takesFields(command).option('--disabled', 'start no runs until `moorage schedules resume`'),
    async read(asked, world) {
      const { body, options } = asked
      if ([body['cron'], body['every'], body['at']].filter((given) => given !== undefined).length !== 1) {
        throw usage('Specify exactly one of --cron "0 9 * * MON-FRI", --every 1h or --at 2027-01-01T09:00:00Z.')
      }
      await readTalk(asked, world)
      body['enabled'] = !options['disabled']
    },
    show(world, schedule) {
      print(world, schedule.id)
      tellNext(world, schedule)
    },
  },
  listSchedules: {
    about: "List an agent's schedules",
    columns: {
      of: [
        'id',
        'name',
        ['WHEN', whenOf],
        ['NEXT', nextOf],
        ['LAST', ({ last_tick_at }) => last_tick_at],
        'missed',
        'skipped',
        'message',
      ],
    },
  },
  getSchedule: { alias: 'show', about: 'Show a schedule and its next runs' },
  updateSchedule: [
    {
      about: 'Change when a schedule runs, or its message',
      options: { ...FIELDS, message: { flags: '-m, --message <text>' } },
      more: takesFields,
      async read(asked, world) {
        await readTalk(asked, world)
        if (Object.keys(asked.body).length === 0) throw usage('Specify what to change, such as --every 2h')
      },
      find: keepContext,
      done: 'Updated {}',
      after: tellNext,
    },
    { ...enabling(false), name: 'pause', about: 'Pause a schedule' },
    { ...enabling(true), name: 'resume', about: 'Resume a schedule' },
  ],
  deleteSchedule: { about: 'Delete a schedule. Runs that it started continue' },
  runSchedule: {
    about: 'Start a run now, as the schedule would, and print its request ID',
    show(world, { request_id }, { params, options }) {
      print(world, request_id)
      note(world, `  Follow the run: ${sameWay(options, `invocations follow ${params['agent_id']} ${request_id}`)}`)
    },
  },
})

function whenOf({ cron, timezone, every, at }: Schedule): string {
  return cron === null ? (every === null ? `at ${at}` : `every ${every}`) : `${cron} (${timezone})`
}

/** When the next run starts, or why none will. */
function nextOf({ next_at, enabled, disabled_reason }: Schedule): string | null {
  if (next_at !== null || enabled) return next_at
  return disabled_reason === 'requested' ? 'paused' : disabled_reason
}

/** Reads the options that are the same as for `invoke`. */
async function readTalk({ body, options }: CommandInput, world: World): Promise<void> {
  const { user, session, environment, context, attach } = options as TalkOptions & { attach?: string[] }
  const isAbout = [user, session, context].some((given) => given !== undefined)
  if (isAbout) Object.assign(body, bodyOf(options as TalkOptions))
  else if (environment !== undefined) body['environment'] = environment
  if (attach) body['attachments'] = await attachables(world, attach)
}

/**
 * Sends the stored context again, because the service replaces it as a whole. The one-time code is kept for the change
 * itself.
 */
async function keepContext({ params, body, options }: CommandInput, client: Client): Promise<void> {
  if (body['context'] === undefined || options['context'] !== undefined) return
  const { agent_id = '', schedule_id = '' } = params
  const { context } = await client.schedules.get(agent_id, schedule_id, { ...options, otp: undefined })
  body['context'] = { ...context, ...(body['context'] as object) }
}

function tellNext(world: World, { next_at, disabled_reason }: Pick<Schedule, 'next_at' | 'disabled_reason'>): void {
  if (next_at !== null) note(world, `  Next run: ${next_at}`)
  else note(world, `  No run is scheduled${disabled_reason ? '' : ' now'}`)
}
