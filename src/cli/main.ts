import { EXIT } from './failure.ts'
import { run } from './run.ts'

const UNREAD = 'nobody reads stdout'
const interrupt = new AbortController()
// The first Ctrl-C lets a command clean up; the second ends it.
process.once('SIGINT', () => interrupt.abort())
// `moorage invoke … | head` is no error, but nobody reads on: what is under way ends as with Ctrl-C.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.exit(EXIT.failed)
  interrupt.abort(UNREAD)
})
// What is said beside the data may go unheard.
process.stderr.on('error', () => {})

const { env, stdin, stdout, stderr } = process
// `npm run moorage` comes here by way of the clone, where `npm start` runs the service; the person may stand elsewhere.
const isNpmRun = env['npm_package_name'] === 'moorage' && env['npm_lifecycle_event'] === 'moorage'
const code = await run(process.argv.slice(2), {
  env,
  cwd: (isNpmRun && env['INIT_CWD']) || process.cwd(),
  serviceFolder: process.cwd(),
  stdin,
  stdout,
  stderr,
  signal: interrupt.signal,
})
process.exitCode = interrupt.signal.reason === UNREAD ? EXIT.ok : code
