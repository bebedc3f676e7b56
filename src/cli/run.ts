import { CommanderError } from 'commander'
import { buildProgram } from './commands.ts'
import { EXIT, exitCodeOf } from './failure.ts'
import { complain, print } from './terminal/output.ts'
import type { World } from './world.ts'

/** What completion scripts ask; not for people. */
const COMPLETE = '__complete'

/** One run of the command line; resolves with its exit code. */
export async function run(args: string[], world: World): Promise<number> {
  try {
    if (args[0] === COMPLETE) await complete(args.slice(1), world)
    else await execute(args, world)
    return EXIT.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    if (world.signal.aborted) return EXIT.interrupted
    complain(world, error)
    return exitCodeOf(error)
  }
}

async function execute(args: string[], world: World): Promise<void> {
  const [first] = args
  if (first === '--version' || first === '-V') {
    const { default: project } = await import('../../package.json', { with: { type: 'json' } })
    return print(world, project.version)
  }
  const program = await buildProgram(world, (name) => name === first)
  if (first === undefined) return program.outputHelp()
  await program.parseAsync(args, { from: 'user' })
}

async function complete(words: string[], world: World): Promise<void> {
  const { candidates } = await import('./commands/service/completion.ts')
  const program = await buildProgram(world, (name) => name === words[0])
  for (const candidate of candidates(program, words)) print(world, candidate)
}
