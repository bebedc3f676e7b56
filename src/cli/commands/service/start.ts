import type { Command } from 'commander'
import { configOption, dataOption } from '../../command.ts'

type StartOptions = { config?: string; data?: string; host?: string; port?: string }

export function start(command: Command): void {
  command
    .option('--host <address>', 'address to listen on (127.0.0.1)')
    .option('--port <port>', 'port to listen on (8787)')
    .addOption(configOption())
    .addOption(dataOption())
    .action(async (options: StartOptions) => {
      const flags = Object.entries(options).map(([name, value]) => `--${name}=${value}`)
      process.argv = [...process.argv.slice(0, 2), ...flags]
      await import('../../../main.ts')
    })
}
