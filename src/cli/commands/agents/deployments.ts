import type { Command } from 'commander'
import type { Client, Deployment } from '../../../../sdk/client.ts'
import type { FieldChange } from '../../../agents/definition.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure } from '../../failure.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { type Column, note, printJson, printRecord, success, warn } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<Deployment>[] = [
  { title: 'ID', of: (deployment) => deployment.id },
  { title: 'ENVIRONMENT', of: (deployment) => deployment.environment },
  { title: 'VERSION', of: (deployment) => deployment.version },
  { title: 'STATUS', of: (deployment) => deployment.status },
  { title: 'CREATED', of: (deployment) => deployment.created_at },
  { title: 'MESSAGE', of: (deployment) => deployment.message },
]

type CreateOptions = { environment: string; message?: string; digest?: string }

export function deployments(command: Command, world: World): void {
  takesService(command.command('list'))
    .alias('ls')
    .description('List deployments, the newest first')
    .argument('<agent>', 'id or name')
    .addOption(limitOption())
    .option('-e, --environment <name>', 'of this environment')
    .option('--status <status>', 'active, superseded or rolled_back')
    .action(
      async (agent: string, options: Common & Limit & { environment?: string; status?: Deployment['status'] }) => {
        const { environment, status } = options
        await withClient(world, options, (client) =>
          printList(world, options, COLUMNS, (limit) => client.deployments.list(agent, { limit, environment, status })),
        )
      },
    )

  takesService(command.command('get'))
    .description('Show a deployment; its id alone is enough')
    .argument('<agent>', 'id or name, or the id of the deployment')
    .argument('[deployment_id]')
    .action(async (agent: string, id: string | undefined, options: Common) => {
      const found = await withClient(world, options, ({ deployments: of }) =>
        id === undefined ? of.find(agent) : of.get(agent, id),
      )
      printRecord(world, found, options)
    })

  takesService(command.command('diff'))
    .description('Show what a deployment changed')
    .argument('<agent>', 'id or name')
    .argument('<deployment_id>')
    .option('--from <deployment_id>', 'compare with this one, or with working_copy, instead of the one it replaced')
    .action(async (agent: string, id: string, options: Common & { from?: string }) => {
      const query = { from: options.from }
      const compared = await withClient(world, options, (client) => client.deployments.diff(agent, id, query))
      if (options.json) return printJson(world, compared)
      const { from, to, diff } = compared
      if (diff.length === 0) return note(world, 'They are the same')
      const { printDiff } = await import('../../terminal/line-diff.ts')
      const before = from.version ?? (options.from === undefined ? 'nothing' : 'the working copy')
      printDiff(world, diff as FieldChange[], { from: before, to: to.version ?? '' })
    })

  takesService(command.command('create'))
    .description("Deploy the agent's working copy, or a version that exists, without a file")
    .argument('<agent>', 'id or name')
    .argument('<version>', 'label of the snapshot')
    .option('-e, --environment <name>', 'where', 'production')
    .option('-m, --message <text>', 'why')
    .option('--digest <digest>', 'only if this is still the digest that `moorage agents get` shows')
    .action(async (agent: string, version: string, options: Common & CreateOptions) => {
      const { environment, message, digest } = options
      const deployment = await withClient(world, options, (client) =>
        client.deployments.create(agent, { environment, version, message, digest }, options),
      )
      if (options.json) return printJson(world, deployment)
      success(world, `${environment} serves ${version} (${deployment.id})`)
      for (const warning of deployment.warnings ?? []) warn(world, warning)
    })
}

type RollbackOptions = Common & { environment: string; message?: string; dryRun?: boolean }

export function rollback(command: Command, world: World): void {
  takesService(command)
    .argument('<agent>', 'id or name')
    .argument('[deployment_id]', 'an earlier one to return to; without it the active one is undone')
    .option('-e, --environment <name>', 'where', 'production')
    .option('-m, --message <text>', 'why')
    .option('--dry-run', 'only show what would change')
    .action(async (agent: string, id: string | undefined, options: RollbackOptions) => {
      const result = await withClient(world, options, async (client) => {
        const target = id ?? (await activeIn(client, agent, options.environment)).id
        const body = { message: options.message, dry_run: options.dryRun }
        return client.deployments.rollback(agent, target, body, options)
      })
      if (options.json) return printJson(world, result)
      if ('dry_run' in result) {
        note(world, 'Nothing is changed yet')
        const { printDiff } = await import('../../terminal/line-diff.ts')
        const { from, to, diff } = result
        return printDiff(world, diff as FieldChange[], { from: `now (${from.version})`, to: `then (${to.version})` })
      }
      success(world, `${result.environment} serves ${result.version} again (${result.id})`)
    })
}

async function activeIn(client: Client, agent: string, environment: string): Promise<Deployment> {
  const { data } = await client.deployments.list(agent, { environment, status: 'active', limit: 1 })
  if (data[0]) return data[0]
  throw new Failure(EXIT.notFound, `Nothing was ever deployed to ${environment}`)
}
