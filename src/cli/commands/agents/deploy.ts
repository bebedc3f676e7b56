import type { Command } from 'commander'
import type { Agent, Client, Deployment } from '../../../../sdk/client.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { findAgent } from '../../connect/known-names.ts'
import { EXIT, Failure } from '../../failure.ts'
import { note, printJson, success, warn } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import type { AgentFile } from './agent-file.ts'
import type { DiffOptions } from './diff.ts'
import { type RolloutSteps, stepsOption, toldDeployment } from './gradual-deployments.ts'

type GradualOptions = { steps?: RolloutSteps; requireReplay?: string }

export type DeployOptions = Common & {
  file: string
  environment: string
  version?: string
  message?: string
  dryRun?: boolean
} & GradualOptions

export function deploy(command: Command, world: World): void {
  takesService(command)
    .argument('[version]', 'version label (default: made from the content)')
    .option('--version <label>', 'the version, instead of the argument')
    .option('-f, --file <file>', 'the agent file', 'agent.yaml')
    .option('-e, --environment <name>', 'the environment', 'production')
    .option('-m, --message <text>', 'why')
    .addOption(stepsOption())
    .option('--require-replay <set>', 'serve it only after this set has passed')
    .option('--dry-run', 'only show what would change, as `moorage diff` does')
    .addHelpText('after', '\nIf updating and deploying each require a one-time code: --otp 123456,654321')
    .action(async (version: string | undefined, options: DeployOptions) => {
      const { readAgentFile } = await import('./agent-file.ts')
      const file = readAgentFile(world, options.file)
      const wanted = { ...options, version: version ?? options.version }
      await withClient(world, options, async (client) => {
        if (options.dryRun) return preview(world, client, file, wanted)
        const deployment = await deployFile(world, client, file, wanted)
        if (options.json) printJson(world, deployment)
      })
    })
}

/** Shows what the deploy would change, or why it would be refused. */
async function preview(world: World, client: Client, file: AgentFile, wanted: DiffOptions & ToDeploy): Promise<void> {
  const { showDiff } = await import('./diff.ts')
  const existing = await findAgent(client, file.body.name)
  if (existing) await requireOwnLabel(client, existing, await labelOf(file, wanted))
  await showDiff(world, client, file, wanted)
}

async function labelOf({ body }: AgentFile, { version }: Pick<ToDeploy, 'version'>) {
  const { digestOf } = await import('../../../agents/definition.ts')
  const digest = digestOf(body)
  return { version: version ?? digest.slice(0, 12), digest }
}

type ToDeploy = Pick<DeployOptions, 'environment' | 'message' | keyof GradualOptions> & { version?: string | undefined }

/**
 * Makes the draft equal to the file, saves it as a version and deploys that. Repeating this changes nothing. If others
 * change the agent at the same time, their changes can't get into this version: the service deploys what matches the
 * digest, or nothing.
 */
export async function deployFile(world: World, client: Client, file: AgentFile, wanted: ToDeploy): Promise<Deployment> {
  const { digestOf } = await import('../../../agents/definition.ts')
  const label = await labelOf(file, wanted)
  const existing = await findAgent(client, file.body.name)
  // Checked first, so a refused deploy leaves the draft as it was.
  if (existing) await requireOwnLabel(client, existing, label)
  const { agent, isChanged } = await updateDraft(world, client, file, existing, { changesAccess: true })
  try {
    if (digestOf(agent as Parameters<typeof digestOf>[0]) !== label.digest) {
      throw new Failure(
        EXIT.failed,
        `Agent "${agent.name}" was changed by another client during the deploy.`,
        '  Deploy again',
      )
    }
    return await serve(world, client, agent, { ...wanted, ...label })
  } catch (error) {
    if (isChanged) {
      note(world, `${agent.name} was updated, but not deployed to ${wanted.environment}. Deploy again.`)
    }
    throw error
  }
}

type VersionLabel = { version: string; digest: string }

async function serve(world: World, client: Client, agent: Agent, wanted: ToDeploy & VersionLabel): Promise<Deployment> {
  const { environment, message, version, digest, steps, requireReplay } = wanted
  const active = (await client.deployments.list(agent.id, { environment, status: 'active', limit: 1 })).data[0]
  if (active?.version === version && active.digest === digest) {
    note(world, `No changes: ${environment} already serves ${version} of ${agent.name}.`, 'dim')
    return active
  }
  const latest = (await client.deployments.list(agent.id, { environment, version, limit: 1 })).data[0]
  if (latest?.digest === digest && isInProgress(latest)) {
    note(world, `No changes: ${version} of ${agent.name} is being deployed to ${environment} (${latest.id}).`, 'dim')
    return latest
  }
  const gradual = {
    ...(steps && { strategy: { steps } }),
    ...(requireReplay !== undefined && { require_replay: { set: requireReplay } }),
  }
  const { digest: current } = agent
  const body = { environment, version, message, digest: current, ...gradual }
  const deployment = await client.deployments.create(agent.id, body)
  success(world, toldDeployment(deployment, agent.name))
  for (const warning of deployment.warnings ?? []) warn(world, warning)
  return deployment
}

/**
 * Refuses a label that is in use for different content. A version never changes, so deploying it again would serve its
 * old content instead of the file's.
 */
async function requireOwnLabel(client: Client, agent: Agent, { version, digest }: VersionLabel): Promise<void> {
  const { data } = await client.deployments.list(agent.id, { version, limit: 1 })
  if (data[0] === undefined || data[0].digest === digest) return
  throw new Failure(
    EXIT.failed,
    `Version ${version} of ${agent.name} already exists with different content.`,
    `  Choose another label, or deploy the existing version with \`moorage deployments create ${agent.name} ${version}\``,
  )
}

function isInProgress({ status }: Deployment): boolean {
  return status === 'rolling_out' || status === 'paused'
}

type UpdatedDraft = { agent: Agent; isChanged: boolean }

/**
 * Makes the draft equal to the file. `security` and `auth` of an existing agent take effect immediately, so they are
 * changed only by a deploy.
 */
export async function updateDraft(
  world: World,
  client: Client,
  { body, given }: AgentFile,
  existing: Agent | undefined,
  { changesAccess }: { changesAccess: boolean },
): Promise<UpdatedDraft> {
  const { security, auth, ...definition } = body
  // The agent's `security` and `auth` are changed only if the file contains them, because that requires the permission
  // `manage`.
  const access = { ...('security' in given && { security }), ...('auth' in given && { auth }) }
  const wanted = { ...definition, ...((changesAccess || !existing) && access) } as Parameters<
    Client['agents']['create']
  >[0]
  if (!existing) {
    const created = await client.agents.create(wanted)
    success(world, `Created ${created.name} (${created.id})`)
    return { agent: created, isChanged: true }
  }
  const { canonicalJson } = await import('../../../lib/json.ts')
  const changed = Object.entries(wanted).filter(
    ([field, value]) => field === 'auth' || canonicalJson(value) !== canonicalJson(existing[field as keyof Agent]),
  )
  if (changed.length === 0) return { agent: existing, isChanged: false }
  const updated = await client.agents.update(existing.id, Object.fromEntries(changed))
  success(world, `Updated ${updated.name}: ${changed.map(([field]) => field).join(', ')}`)
  return { agent: updated, isChanged: true }
}
