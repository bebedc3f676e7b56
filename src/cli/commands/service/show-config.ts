import type { Command } from 'commander'
import { configOption, dataOption } from '../../command.ts'
import { EXIT, Failure } from '../../failure.ts'
import { type Column, printDone, printJson, printRows } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

type ConfigOptions = { config?: string; data?: string; json?: boolean }
type SettingRow = { path: string; value: unknown; origin: string | null }

const COLUMNS: Column<SettingRow>[] = [
  ['SETTING', (setting) => setting.path],
  'value',
  ['FROM', (setting) => setting.origin],
]

export function config(command: Command, world: World): void {
  takesConfig(command.command('validate'))
    .description('Check the configuration and list every error (exit code 2)')
    .action(async (options: ConfigOptions) => {
      const settings = await load(world, options)
      printDone(world, { valid: true }, options, `The configuration is valid (${settings.length} settings)`)
    })

  takesConfig(command.command('show'))
    .description('Show every setting and where it comes from. Secrets appear as (set)')
    .action(async (options: ConfigOptions) => printRows(world, await load(world, options), COLUMNS, options))

  command
    .command('schema')
    .description('Print the JSON Schema of moorage.yaml, or of agent.yaml, for editors')
    .argument('[what]', 'config or agent', 'config')
    .action(async (what: string) => printJson(world, await schemaOf(what)))
}

function takesConfig(command: Command): Command {
  return command.addOption(configOption()).addOption(dataOption()).option('--json', 'print JSON')
}

async function load({ env, serviceFolder }: World, { config: file, data }: ConfigOptions): Promise<SettingRow[]> {
  const { ConfigError, loadConfig } = await import('../../../config.ts')
  try {
    return loadConfig({ flags: { config: file, data }, env, cwd: serviceFolder }).settings
  } catch (error) {
    if (error instanceof ConfigError) throw new Failure(EXIT.usage, error.problems.join('\n'))
    throw error
  }
}

async function schemaOf(what: string): Promise<unknown> {
  if (what === 'config') return (await import('../../../config/rules.ts')).configSchema()
  if (what === 'agent') return (await import('../agents/agent-file.ts')).agentSchema()
  throw new Failure(EXIT.usage, `Unknown schema "${what}". Choose config or agent.`)
}
