import { CommanderError } from 'commander'
import { buildProgram } from './commands.ts'
import { EXIT, exitCodeOf, type Failure, usage } from './failure.ts'
import { complain, print } from './terminal/output.ts'
import type { World } from './world.ts'

/** For completion scripts, not for people. */
const COMPLETE = '__complete'

/** Runs the command line once. Resolves with its exit code. */
export async function run(args: string[], world: World): Promise<number> {
  const end = args.indexOf('--')
  const isJson = (end < 0 ? args : args.slice(0, end)).includes('--json')
  const informed = { ...world, isJson }
  try {
    if (args[0] === COMPLETE) await complete(args.slice(1), world)
    else await execute(args, informed)
    return EXIT.ok
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.ok
      // Without --json, commander has already printed the error.
      if (isJson) complain(informed, misuse(error))
      return EXIT.usage
    }
    if (world.signal.aborted) return EXIT.interrupted
    complain(informed, error)
    return exitCodeOf(error)
  }
}

function misuse({ code, message }: CommanderError): Failure {
  return usage(
    code === 'commander.help' ? 'Specify a command. Run with --help to list them.' : message.replace(/^error: /, ''),
  )
}

async function execute(args: string[], world: World): Promise<void> {
  const [first] = args
  if (first === '--version' || first === '-V') {
    const { findVersion, versionText } = await import('../lib/version.ts')
    return print(world, versionText(findVersion()))
  }
  const program = await buildProgram(world, (name) => name === first)
  if (first === undefined) return program.outputHelp()
  await program.parseAsync(args, { from: 'user' })
}

async function complete(words: string[], world: World): Promise<void> {
  const { candidates, knownAgents } = await import('./commands/service/completion.ts')
  const program = await buildProgram(world, (name) => name === words[0])
  const found = await candidates(program, words, () => knownAgents(world, words))
  for (const candidate of found) print(world, candidate)
}
