import { Command } from 'commander'
import { visible } from '../lib/text/visible.ts'
import { COMMANDS } from './listed-commands.ts'
import type { World } from './world.ts'

/** The program, with the named commands ready to run. For all others, only the name and the summary are loaded. */
export async function buildProgram(world: World, wanted: (name: string) => boolean): Promise<Command> {
  const program = new Command('moorage')
    .description('Run Moorage, deploy agents and talk to them')
    .enablePositionalOptions()
    .exitOverride()
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeOut: (text) => world.stdout.write(text),
      writeErr: (text) => world.isJson || world.stderr.write(visible(text)),
      getOutHelpWidth: () => world.stdout.columns ?? 100,
      getErrHelpWidth: () => world.stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError('(Run with --help to see commands and options.)')
    .helpCommand(false)
    .helpOption('-h, --help', 'Show help for a command')
    .option('-V, --version', 'show the version')
  for (const { group, name, summary, load } of COMMANDS) {
    const command = program.commandsGroup(`${group}:`).command(name).description(summary).helpCommand(false)
    if (!wanted(name)) continue
    const setUp = await load()
    setUp(command, world)
    endHelp(command)
  }
  return program
}

/** Gives commands without subcommands a simpler description of `--help`. */
function endHelp(command: Command): void {
  if (command.commands.length === 0) command.helpOption('-h, --help', 'show help')
  for (const child of command.commands) endHelp(child)
}
