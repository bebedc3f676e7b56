import type { Command } from 'commander'
import type { Agent, Client } from '../../../../sdk/client.ts'
import type { FieldChange } from '../../../agents/definition.ts'
import { AGENT_FILE, takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { findAgent } from '../../connect/known-names.ts'
import { note, printJson } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import type { AgentFile } from './agent-file.ts'

export type DiffOptions = Common & { file: string; environment: string }

export function diff(command: Command, world: World): void {
  takesService(command)
    .option('-f, --file <file>', 'the agent file', AGENT_FILE)
    .option('-e, --environment <name>', 'compare with what this environment serves', 'production')
    .action(async (options: DiffOptions) => {
      const { readAgentFile } = await import('./agent-file.ts')
      const file = readAgentFile(world, options.file)
      await withClient(world, options, (client) => showDiff(world, client, file, options))
    })
}

/** Shows what deploying the file would change, without changing anything. */
export async function showDiff(world: World, client: Client, file: AgentFile, options: DiffOptions): Promise<void> {
  const { name } = file.body
  const agent = await findAgent(client, name)
  const served = agent && (await servedIn(client, agent, options.environment))
  const changes = await changesOf(file, agent, served?.definition)
  if (options.json) return printJson(world, changes)
  if (!agent) note(world, `Agent "${name}" doesn't exist yet. Deploying creates it.`)
  if ('auth' in file.given && file.body.auth)
    note(world, "`auth` is set on every deploy, because its secrets can't be compared.")
  if (changes.length === 0)
    return note(world, `No changes: ${options.environment} already serves what is in ${options.file}.`)
  const { printDiff } = await import('../../terminal/line-diff.ts')
  printDiff(world, changes, { from: served?.name ?? 'nothing', to: options.file })
}

type Definition = Parameters<typeof import('../../../agents/definition.ts').definitionOf>[0]

/** The definition that an environment serves. An environment without deployments serves the draft. */
async function servedIn(client: Client, agent: Agent, environment: string) {
  const { data } = await client.deployments.list(agent.id, { environment, status: 'active', limit: 1 })
  const [active] = data
  if (!active) return { name: `${environment} (the draft)`, definition: agent as Definition }
  const { definition } = await client.deployments.get(agent.id, active.id)
  return { name: `${environment} (${active.version})`, definition: definition as Definition }
}

async function changesOf(
  { body, given }: AgentFile,
  agent: Agent | undefined,
  served: Definition | undefined,
): Promise<FieldChange[]> {
  const { changesBetween, DefinitionFields } = await import('../../../agents/definition.ts')
  const { canonicalJson } = await import('../../../lib/json.ts')
  const changes: FieldChange[] = served
    ? changesBetween(served, body)
    : changesBetween(DefinitionFields.parse({}), body).map(({ field, to }) => ({ field, from: undefined, to }))
  // `security` and `auth` aren't part of a version. They change immediately, and only if the file contains them.
  const security = agent?.security ?? null
  if ('security' in given && canonicalJson(security) !== canonicalJson(body.security)) {
    changes.push({ field: 'security', from: security, to: body.security })
  }
  return changes
}
