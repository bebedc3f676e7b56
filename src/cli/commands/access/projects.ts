import type { Command } from 'commander'
import type { UpdateProject } from '../../../../sdk/api.ts'
import type { Project } from '../../../../sdk/client.ts'
import { count, takesStore } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { usage } from '../../failure.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { type Column, note, printDone, printJson, printRecord, success } from '../../terminal/output.ts'
import { ask } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<Project>[] = [
  { title: 'NAME', of: ({ name }) => name },
  { title: 'ID', of: ({ id }) => id },
  { title: 'DESCRIPTION', of: ({ description }) => description },
  { title: 'REQUESTS A MINUTE', of: ({ limits }) => limits.requests_per_minute ?? 'no limit' },
  { title: 'RUNS AT ONCE', of: ({ limits }) => limits.concurrent_runs ?? 'no limit' },
  { title: 'STORED BYTES', of: ({ limits }) => limits.stored_bytes ?? 'no limit' },
  { title: 'FILE BYTES', of: ({ limits }) => limits.file_bytes ?? 'no limit' },
  { title: 'KEPT DAYS', of: ({ limits }) => limits.retention_days ?? 'as the service' },
  { title: 'CREATED', of: ({ created_at }) => created_at },
]

type LimitOption = number | 'none' | undefined

type Changes = Common & {
  name?: string
  description?: string
  requestsPerMinute?: LimitOption
  concurrentRuns?: LimitOption
  storedBytes?: LimitOption
  fileBytes?: LimitOption
  retentionDays?: LimitOption
}

export function projects(command: Command, world: World): void {
  takesLimits(takesStore(command.command('create')))
    .description('Create a project; further commands name it with --project')
    .argument('<name>', 'a-z, 0-9 and -')
    .option('--description <text>', 'what it is for')
    .action(async (name: string, options: Changes) => {
      const body = { name, description: options.description, limits: limitsOf(options) }
      const project = await withClientOrStore(world, options, (client) => client.projects.create(body, options))
      printDone(world, project, options, `Created ${project.name} (${project.id})`)
    })

  takesStore(command.command('list'))
    .alias('ls')
    .description('List the projects that this key may see')
    .addOption(limitOption())
    .action(async (options: Common & Limit) => {
      await withClientOrStore(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.projects.list({ limit, sort: 'name' })),
      )
    })

  takesStore(command.command('get'))
    .description('Show a project')
    .argument('<project>', 'id or name')
    .action(async (project: string, options: Common) => {
      printRecord(world, await withClientOrStore(world, options, (client) => client.projects.get(project)), options)
    })

  takesLimits(takesStore(command.command('update')))
    .description('Change a project')
    .argument('<project>', 'id or name')
    .option('--name <name>', 'its new name')
    .option('--description <text>', 'what it is for')
    .action(async (project: string, options: Changes) => {
      const { name, description } = options
      const body = { name, description, limits: limitsOf(options) }
      if (Object.values(body).every((value) => value === undefined)) throw usage('Say what to change: see --help')
      const changed = await withClientOrStore(world, options, (client) =>
        client.projects.update(project, body, options),
      )
      printDone(world, changed, options, `Changed ${changed.name}`)
    })

  takesStore(command.command('delete'))
    .alias('rm')
    .description('Delete a project with all its agents, keys, webhooks, secrets and providers')
    .argument('<project>', 'id or name')
    .option('--confirm <name>', 'its name, instead of being asked for it')
    .action(async (project: string, options: Common & { confirm?: string }) => {
      const name = options.confirm ?? (await askForName(world, project))
      const deleted = await withClientOrStore(world, options, (client) =>
        client.projects.delete(project, { name }, options),
      )
      printDone(world, deleted, options, `Deleted ${name}`)
    })

  takesStore(command.command('move'))
    .description('Move an agent of --project, with its history, to another project')
    .argument('<agent>', 'id or name')
    .argument('<project>', 'where it goes: id or name')
    .action(async (agent: string, project: string, options: Common) => {
      const moved = await withClientOrStore(world, options, (client) => client.agents.move(agent, { project }, options))
      if (options.json) return printJson(world, moved)
      success(world, `Moved ${agent} to ${project}`)
      const ended = moved.revoked_keys.join(', ')
      if (ended) note(world, `  Keys that people had made for it, and that have ended: ${ended}`)
    })
}

function takesLimits(command: Command): Command {
  return command
    .option('--requests-per-minute <number>', 'for all its callers together, or none', limit)
    .option('--concurrent-runs <number>', 'of all its agents together, or none', limit)
    .option('--stored-bytes <number>', 'of its receipts, logs, memories and files, or none', limit)
    .option('--file-bytes <number>', 'of its files, or none', limit)
    .option('--retention-days <number>', 'how long its receipts, logs and memories are kept, or none', limit)
}

const limit = (text: string): LimitOption => (text === 'none' ? text : count(text))

/** Undefined if no limit is named. */
function limitsOf(options: Changes): UpdateProject['limits'] {
  const { requestsPerMinute, concurrentRuns, storedBytes, fileBytes, retentionDays } = options
  const named = Object.entries({
    requests_per_minute: requestsPerMinute,
    concurrent_runs: concurrentRuns,
    stored_bytes: storedBytes,
    file_bytes: fileBytes,
    retention_days: retentionDays,
  }).filter(([, value]) => value !== undefined)
  if (named.length === 0) return undefined
  return Object.fromEntries(named.map(([name, value]) => [name, value === 'none' ? null : value]))
}

function askForName(world: World, project: string): Promise<string> {
  const message = `Everything in ${project} goes. Type its name to delete it`
  return ask(world, { message, missing: 'Say its name with --confirm' })
}
