import { Command, CommanderError } from 'commander'
import { addKeys } from './commands/keys.ts'
import { addStart } from './commands/start.ts'
import { EXIT, exitCodeOf, explain } from './failure.ts'
import { note, paint } from './output.ts'
import type { World } from './world.ts'

/** One run of the command line; resolves with its exit code. */
export async function run(args: string[], world: World): Promise<number> {
  const program = buildProgram(world)
  try {
    await program.parseAsync(args, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    if (world.signal.aborted) return EXIT.interrupted
    note(world, `${paint(world, 'stderr', 'red', 'error')} ${explain(error)}`)
    return exitCodeOf(error)
  }
}

export function buildProgram(world: World): Command {
  const program = new Command('moorage')
    .description('Your agents behind one API: run the service, deploy agents, talk to them')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => world.stdout.write(text),
      writeErr: (text) => world.stderr.write(text),
      getOutHelpWidth: () => world.stdout.columns ?? 100,
      getErrHelpWidth: () => world.stderr.columns ?? 100,
    })
    .showHelpAfterError('(--help shows what there is)')
  addStart(program)
  addKeys(program, world)
  return program
}
