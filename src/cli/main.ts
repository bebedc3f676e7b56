import { EXIT } from './failure.ts'
import { run } from './run.ts'

const UNREAD = 'stdout is not read any more'
const interrupt = new AbortController()
// The first Ctrl-C lets a command clean up; the second ends it.
process.once('SIGINT', () => interrupt.abort())
// `moorage invoke … | head` isn't an error. Its output is no longer read, so the command ends as with Ctrl-C.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.exit(EXIT.failed)
  interrupt.abort(UNREAD)
})
// Messages on stderr may be lost.
process.stderr.on('error', () => {})

const { env, stdin, stdout, stderr } = process
// `npm run moorage` runs in the clone's folder, where `npm start` also runs the service. The person may be in another
// folder.
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
