import type { Command } from 'commander'
import { type Agent, type Client, type Deployment, MoorageError } from '../../../../sdk/client.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure } from '../../failure.ts'
import { note, printJson, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import type { AgentFile } from './agent-file.ts'

export type DeployOptions = Common & {
  file: string
  environment: string
  version?: string
  message?: string
}

export function deploy(command: Command, world: World): void {
  takesService(command)
    .argument('[version]', 'label of the version; without it one is made from the content')
    .option('--version <label>', 'the same as an option')
    .option('-f, --file <file>', 'the agent', 'agent.yaml')
    .option('-e, --environment <name>', 'where to', 'production')
    .option('-m, --message <text>', 'why')
    .addHelpText('after', '\nWhere updating and deploying each want a one-time code: --otp 123456,654321')
    .action(async (version: string | undefined, options: DeployOptions) => {
      const { readAgentFile } = await import('./agent-file.ts')
      const file = readAgentFile(world, options.file)
      const deployment = await withClient(world, options, (client) =>
        deployFile(world, client, file, { ...options, version: version ?? options.version }),
      )
      if (options.json) printJson(world, deployment)
    })
}

type Wanted = Pick<DeployOptions, 'environment' | 'message'> & { version?: string | undefined }

/** Makes the working copy what the file says, snapshots it and serves it. Doing it again changes nothing. */
export async function deployFile(world: World, client: Client, file: AgentFile, wanted: Wanted): Promise<Deployment> {
  const { snapshot } = await import('../../../deployments/deployment.ts')
  const { agent, isChanged } = await put(world, client, file)
  try {
    return await serve(world, client, agent, snapshot(agent as Parameters<typeof snapshot>[0], '').digest, wanted)
  } catch (error) {
    if (isChanged) {
      note(
        world,
        `${agent.name} is what the file says now, but ${wanted.environment} was not deployed to: deploy again`,
      )
    }
    throw error
  }
}

type Put = { agent: Agent; isChanged: boolean }

async function serve(world: World, client: Client, agent: Agent, digest: string, wanted: Wanted): Promise<Deployment> {
  const { environment, message, version = digest.slice(0, 12) } = wanted
  const active = (await client.deployments.list(agent.id, { environment, status: 'active', limit: 1 })).data[0]
  if (active?.version === version && active.digest === digest) {
    note(world, `${environment} serves ${version} of ${agent.name} already`, 'dim')
    return active
  }
  if (wanted.version !== undefined) await requireFreshLabel(client, agent, version, digest)
  const deployment = await client.deployments.create(agent.id, { environment, version, message })
  success(world, `${environment} serves ${version} of ${agent.name} (${deployment.id})`)
  return deployment
}

/** A label never changes: deployed again it would serve what it served then, not what the file says now. */
async function requireFreshLabel(client: Client, agent: Agent, version: string, digest: string): Promise<void> {
  for await (const deployment of client.deployments.list(agent.id, { limit: 100 })) {
    if (deployment.version !== version || deployment.digest === digest) continue
    throw new Failure(
      EXIT.failed,
      `Version ${version} of ${agent.name} exists already and is something else`,
      `  Choose another label, or return to it with \`moorage deployments create ${agent.name} ${version}\``,
    )
  }
}

async function put(world: World, client: Client, { body, given }: AgentFile): Promise<Put> {
  const { security, auth, ...definition } = body
  // Access to the agent is changed only by a file that speaks of it: it needs the permission `manage`.
  const access = { ...('security' in given && { security }), ...('auth' in given && { auth }) }
  const wanted = { ...definition, ...access } as Parameters<Client['agents']['create']>[0]
  const existing = await find(client, body.name)
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

async function find(client: Client, name: string): Promise<Agent | undefined> {
  try {
    return await client.agents.get(name)
  } catch (error) {
    if (error instanceof MoorageError && error.code === 'not_found') return undefined
    throw error
  }
}
