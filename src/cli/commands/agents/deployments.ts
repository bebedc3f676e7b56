import type { Command } from 'commander'
import type { Client, Deployment } from '../../../../sdk/client.ts'
import type { FieldChange } from '../../../agents/definition.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure } from '../../failure.ts'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'
import { note, printJson, success, warn } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import { type RolloutSteps, stepsOption, toldDeployment, watch } from './gradual-deployments.ts'

const SPECS: CommandSpecs = {
  listDeployments: {
    about: 'List deployments, most recent first',
    options: { environment: { flags: '-e, --environment <name>' } },
    columns: { of: ['id', 'environment', 'version', 'status', 'created_at', 'message'] },
  },
  getDeployment: {
    about: 'Show a deployment. Its ID alone is enough',
    params: { agent_id: 'agent ID or name, or the ID of the deployment', deployment_id: '[deployment_id]' },
    call: (client, { params: { agent_id = '', deployment_id } }) =>
      deployment_id === undefined ? client.deployments.find(agent_id) : client.deployments.get(agent_id, deployment_id),
  },
  findDeployment: false,
  diffDeployment: {
    about: 'Show what a deployment changed',
    options: {
      from: {
        flags: '--from <deployment_id>',
        about: 'compare with this deployment, or with working_copy (the draft), instead of the one it replaced',
      },
    },
    async show(world, { from, to, diff }, { query }) {
      if (diff.length === 0) return note(world, 'No differences.')
      const { printDiff } = await import('../../terminal/line-diff.ts')
      const before = from.version ?? (query['from'] === undefined ? 'nothing' : 'the draft')
      printDiff(world, diff as FieldChange[], { from: before, to: to.version ?? '' })
    },
  },
  createDeployment: {
    about: "Deploy the agent's draft, or an existing version, without a file",
    args: ['version'],
    options: {
      environment: { flags: '-e, --environment <name>', about: 'the environment (default: production)' },
      message: { flags: '-m, --message <text>', about: 'why' },
      digest: 'deploy only if the agent still has this digest (see `moorage agents get`)',
      strategy: { flags: '--strategy <json>', about: 'deploy gradually: JSON, @file or - (see also --steps)' },
      'require_replay.set': { flags: '--require-replay <set>', about: 'serve it only after this set has passed' },
      'require_replay.min_pass': { flags: '--min-pass <share>', about: 'the share of its cases that must pass' },
    },
    more: (command) => command.addOption(stepsOption()),
    read({ body, options }) {
      body['environment'] ??= 'production'
      const { steps } = options as { steps?: RolloutSteps }
      if (steps) body['strategy'] = { ...(body['strategy'] as object | undefined), steps }
    },
    done: (deployment) => toldDeployment(deployment),
    after(world, { warnings = [] }) {
      for (const warning of warnings) warn(world, warning)
    },
  },
  rollbackDeployment: false,
  promoteDeployment: {
    about: 'Finish a gradual deployment: its version serves all messages now',
    done: (deployment) => toldDeployment(deployment),
  },
  pauseDeployment: {
    about: 'Pause a gradual deployment. Its version keeps its share of the messages',
    done: ({ id, progress }) => `${id} is paused at ${progress?.percent} %`,
  },
  resumeDeployment: {
    about: 'Resume a paused gradual deployment',
    done: (deployment) => toldDeployment(deployment),
  },
  abortDeployment: {
    about: 'End a gradual deployment. The previous version serves all messages again',
    done: ({ id }) => `Aborted ${id}`,
  },
}

export const deployments = serviceCommands('deployments', SPECS, (command, world) =>
  watch(command.command('watch').description('Follow a gradual deployment until it has ended, for CI'), world),
)

type RollbackOptions = Common & { environment: string; message?: string; forget?: boolean; dryRun?: boolean }

export function rollback(command: Command, world: World): void {
  takesService(command)
    .argument('<agent>', 'ID or name')
    .argument('[deployment_id]', 'an earlier deployment to return to (default: undo the active one)')
    .option('-e, --environment <name>', 'the environment', 'production')
    .option('-m, --message <text>', 'why')
    .option('--forget', 'also remove the memories that runs of the undone deployment have written')
    .option('--dry-run', 'only show what would change')
    .action(async (agent: string, id: string | undefined, options: RollbackOptions) => {
      const result = await withClient(world, options, async (client) => {
        const target = id ?? (await activeIn(client, agent, options.environment)).id
        const body = { message: options.message, forget: options.forget, dry_run: options.dryRun }
        return client.deployments.rollback(agent, target, body, options)
      })
      if (options.json) return printJson(world, result)
      if ('dry_run' in result) {
        note(world, 'Dry run: nothing was changed.')
        const { printDiff } = await import('../../terminal/line-diff.ts')
        const { from, to, diff, memories } = result
        printDiff(world, diff as FieldChange[], { from: `now (${from.version})`, to: `then (${to.version})` })
        const fate = options.forget ? 'would be removed' : 'are kept unless you add --forget'
        if (memories > 0) note(world, `Memories that it wrote: ${memories}. They ${fate}.`)
        return
      }
      success(world, `${result.environment} serves ${result.version} again (${result.id})`)
      if (options.forget) note(world, 'Its memories are being removed in the background.')
    })
}

async function activeIn(client: Client, agent: string, environment: string): Promise<Deployment> {
  const { data } = await client.deployments.list(agent, { environment, status: 'active', limit: 1 })
  if (data[0]) return data[0]
  throw new Failure(EXIT.notFound, `Nothing has been deployed to ${environment} yet.`)
}
