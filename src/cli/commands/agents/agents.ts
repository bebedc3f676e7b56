import type { Command } from 'commander'
import type { Agent, AgentOverview, AgentSummary, CreateAgent, InvocableAgent } from '../../../../sdk/client.ts'
import { withoutUndefined } from '../../../lib/without-undefined.ts'
import { number, seconds, takesService, yesOption } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { type Column, printDone, printJson, printRecord, success } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import { sparkline } from '../../terminal/sparkline.ts'
import type { World } from '../../world.ts'
import { failIfAny, tell } from './told-points.ts'

const COLUMNS: Column<AgentSummary>[] = [
  { title: 'ID', of: (agent) => agent.id },
  { title: 'NAME', of: (agent) => agent.name },
  { title: 'STATUS', of: (agent) => agent.status },
  { title: 'CREATED', of: (agent) => agent.created_at },
]

const OVERVIEW_COLUMNS: Column<AgentOverview>[] = [
  { title: 'NAME', of: (agent) => agent.name },
  { title: 'KIND', of: (agent) => agent.kind },
  { title: 'STATUS', of: (agent) => agent.status },
  { title: 'VERSION', of: (agent) => agent.version },
  { title: 'REQUESTS', of: (agent) => agent.requests },
  { title: 'ERRORS', of: (agent) => agent.errors },
  { title: 'P95 MS', of: (agent) => agent.p95_ms },
  { title: '24 HOURS', of: (agent) => sparkline(agent.hours, agent.hours.length) },
]

const INVOCABLE_COLUMNS: Column<InvocableAgent>[] = [
  { title: 'NAME', of: (agent) => agent.name },
  { title: 'STATUS', of: (agent) => agent.status },
  { title: 'DESCRIPTION', of: (agent) => agent.description },
]

type FieldOptions = {
  model?: string | string[]
  instructions?: string
  description?: string
  temperature?: number
  file?: string
}

export function agents(command: Command, world: World): void {
  takesService(command.command('list'))
    .alias('ls')
    .description('List agents')
    .addOption(limitOption())
    .option('--sort <field>', 'created_at, updated_at, name, status or id; - before it for descending')
    .action(async (options: Common & Limit & { sort?: 'name' }) => {
      const { sort } = options
      await withClient(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.agents.list({ limit, sort })),
      )
    })

  takesService(command.command('overview'))
    .description('List agents with what they serve and how the last 24 hours went')
    .addOption(limitOption())
    .action(async (options: Common & Limit) => {
      await withClient(world, options, (client) =>
        printList(world, options, OVERVIEW_COLUMNS, (limit) => client.agents.overview({ limit, sort: 'name' })),
      )
    })

  takesService(command.command('invocable'))
    .description('List the agents that your key may invoke')
    .addOption(limitOption())
    .action(async (options: Common & Limit) => {
      await withClient(world, options, (client) =>
        printList(world, options, INVOCABLE_COLUMNS, (limit) => client.keys.agents({ limit, sort: 'name' })),
      )
    })

  takesService(command.command('get'))
    .description('Show an agent')
    .argument('<agent>', 'id or name')
    .action(async (agent: string, options: Common) => {
      printRecord(world, await withClient(world, options, (client) => client.agents.get(agent)), options)
    })

  takesFields(takesService(command.command('create')))
    .description('Create an agent')
    .argument('[name]', 'unless the file says it')
    .action(async (name: string | undefined, options: Common & FieldOptions) => {
      const body = { ...(await readFields(world, options)), ...(name !== undefined && { name }) }
      if (body.name === undefined) throw usage('Give the agent a name: moorage agents create <name>')
      const { name: given } = body
      const agent = await withClient(world, options, (client) =>
        client.agents.create({ ...body, name: given }, options),
      )
      told(world, agent, options, 'Created')
    })

  takesFields(takesService(command.command('update')))
    .description("Change an agent's working copy; what is deployed stays as it is")
    .argument('<agent>', 'id or name')
    .option('--name <name>', 'a new name')
    .option('--status <status>', 'running, or paused: cancels what runs and refuses the rest')
    .action(async (agent: string, options: Common & FieldOptions & { name?: string; status?: Agent['status'] }) => {
      const { name, status } = options
      const body = { ...(await readFields(world, options)), ...(name && { name }), ...(status && { status }) }
      if (Object.keys(body).length === 0) throw usage('Say what to change, such as --model or --file')
      told(
        world,
        await withClient(world, options, (client) => client.agents.update(agent, body, options)),
        options,
        'Updated',
      )
    })

  takesService(command.command('check'))
    .description('Try point by point whether a remote agent keeps the contract, as the service calls it')
    .argument('<agent>', 'id or name')
    .option('-m, --message <text>', 'what it is told (Hello)')
    .option('--timeout <duration>', 'how long a call may take (30s)', seconds)
    .action(async (agent: string, options: Common & { message?: string; timeout?: number }) => {
      const { message, timeout } = options
      const body = { message, timeout_ms: timeout && timeout * 1000 }
      const checked = await withClient(world, options, (client) => client.agents.checkRemote(agent, body, options))
      if (options.json) printJson(world, checked)
      if (!options.json) for (const point of checked.points) tell(world, point)
      if (checked.error !== null) throw new Failure(EXIT.failed, checked.error)
      failIfAny(checked.points)
    })

  takesService(command.command('delete'))
    .alias('rm')
    .description('Delete an agent with its deployments, memory, logs, webhooks and scoped keys')
    .argument('<agent>', 'id or name')
    .addOption(yesOption())
    .action(async (agent: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Delete ${agent} with its deployments, schedules, memory, logs, webhooks and keys?`, options)
      const deleted = await withClient(world, options, (client) => client.agents.delete(agent, options))
      printDone(world, deleted, options, `Deleted ${deleted.id}`)
    })
}

/** One name, or a list. */
function models(text: string): string | string[] {
  return text.includes(',') ? text.split(',').map((name) => name.trim()) : text
}

function takesFields(command: Command): Command {
  return command
    .option(
      '--model <model>',
      'provider/model, such as builtin/echo; several with commas: the next one if one cannot answer',
      models,
    )
    .option('--instructions <text>', 'what the agent should do')
    .option('--description <text>', 'what the agent is for')
    .option('--temperature <number>', '0 to 2', number)
    .option('-f, --file <file>', 'every field, as in agent.yaml')
}

/** The fields of the file, overridden by those of the options. */
async function readFields(world: World, options: FieldOptions): Promise<Partial<CreateAgent>> {
  const { model, instructions, description, temperature, file } = options
  const given = withoutUndefined({ model, instructions, description, temperature })
  if (file === undefined) return given
  const { readAgentFile } = await import('./agent-file.ts')
  return { ...readAgentFile(world, file).given, ...given }
}

function told(world: World, agent: Agent, options: Common, verb: string): void {
  success(world, `${verb} ${agent.name} (${agent.id})`)
  if (options.json) printJson(world, agent)
}
