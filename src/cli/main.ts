import { run } from './run.ts'

const interrupt = new AbortController()
// The first Ctrl-C lets a command clean up; the second ends it.
process.once('SIGINT', () => interrupt.abort())
// `moorage logs | head` is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

const { env, stdin, stdout, stderr } = process
// `npm run moorage` comes here by way of the clone, where `npm start` runs the service; the person may stand elsewhere.
const isNpmRun = env['npm_package_name'] === 'moorage' && env['npm_lifecycle_event'] === 'moorage'
process.exitCode = await run(process.argv.slice(2), {
  env,
  cwd: (isNpmRun && env['INIT_CWD']) || process.cwd(),
  serviceFolder: process.cwd(),
  stdin,
  stdout,
  stderr,
  signal: interrupt.signal,
})
