import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type App, startApp } from './app.ts'
import { ConfigError, commandOf, loadConfig } from './config.ts'
import { DEMO_AGENT } from './first-start.ts'

/** How a person calls the command line: as they started the service, where the package is installed, or in a checkout. */
const COMMAND = commandOf(process.argv[1] ?? '', import.meta.filename)
/** The service and the data folder that commands use by default. */
const USUAL = { url: 'http://127.0.0.1:8787', data: 'data' }
const EXIT_FAILED = 1
const EXIT_USAGE = 2

await start(process.argv.slice(2)).catch(fail)

async function start(args: string[]): Promise<void> {
  outliveReaders()
  const { config: file, data, ...server } = parseFlags(args)
  const { config, settings } = loadConfig({ flags: { config: file, data, server } })
  const app = await startApp(config, { settings })
  // The process ends and can be started again. Otherwise it would answer every request with an error.
  app.parts.storage.lost.then((err) => {
    app.parts.log.error({ err }, 'the database is no longer usable, so this process exits')
    fail(err)
  })
  const stop = (signal: string) => {
    app.parts.log.info({ signal }, 'shutting down; active requests can finish')
    app.stop().then(() => {
      app.parts.log.info('stopped')
      process.exit(0)
    }, fail)
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  const url = config.server.publicUrl ?? app.url
  console.log(banner({ ...app, url }, config.data, await consoleLink({ ...app, url })))
}

/** The process that reads our output can end, and so can the terminal. The service stops only on a signal. */
function outliveReaders(): void {
  process.on('SIGHUP', () => {})
  // The command line, which may have started the service, has a listener that would end the process.
  process.stdout.removeAllListeners('error').on('error', () => {})
}

function parseFlags(args: string[]) {
  const text = { type: 'string' } as const
  try {
    return parseArgs({ args, options: { config: text, host: text, port: text, data: text } }).values
  } catch (error) {
    throw new ConfigError([(error as Error).message])
  }
}

/**
 * A link is as good as the key for ten minutes, and output that no person reads is often collected and kept. So it is
 * printed on a terminal only.
 */
async function consoleLink({ url, newConsoleLink }: Pick<App, 'url' | 'newConsoleLink'>): Promise<string | undefined> {
  if (!process.stdout.isTTY) return undefined
  const token = await newConsoleLink()
  return token && `${url}/#link=${token}`
}

function banner(
  { url, engine, adminKey }: Pick<App, 'url' | 'engine' | 'adminKey'>,
  data: string,
  link: string | undefined,
): string {
  const lines = [
    '',
    '  Moorage — your agents behind one API',
    '',
    `  URL    ${url}`,
    `  Data   ${engine === 'postgres' ? 'PostgreSQL' : `${data} (SQLite)`}`,
  ]
  const store = engine === 'postgres' || data === resolve(USUAL.data) ? '' : ` --data ${shellWord(data)}`
  const where = url === USUAL.url ? store : `${store} --url ${url}`
  const another = `${COMMAND} open${where && ` --local${where}`}`
  if (link) lines.push(`  Open   ${link}   (works once, within 10 minutes; for a new link: ${another})`)
  else lines.push(`  Open   ${another}   (prints a sign-in link for the console)`)
  if (adminKey) lines.push(`  Key    ${adminKey}   (admin; shown only once, so store it now)`)
  else lines.push(`  Key    your existing key. Lost it? ${COMMAND} keys create admin --role admin --local${store}`)
  lines.push(
    '',
    '  Try it:',
    '',
    `  curl ${url}/v1/agents/${DEMO_AGENT}/invoke \\`,
    `    -H "Authorization: Bearer ${adminKey ?? '$MOORAGE_API_KEY'}" \\`,
    `    -H "Content-Type: application/json" -d '{"message": "Ahoy!"}'`,
    '',
  )
  return lines.join('\n')
}

function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

function fail(thrown: unknown): never {
  // The first error is the cause. Errors that happened while the start was undone help less.
  const error = thrown instanceof SuppressedError ? thrown.suppressed : thrown
  if (error instanceof ConfigError) {
    console.error(error.problems.join('\n'))
    process.exit(EXIT_USAGE)
  }
  console.error(`moorage: ${error instanceof Error ? error.message : error}`)
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    console.error('  Is another Moorage running? To use another port, set PORT=8788')
  }
  process.exit(EXIT_FAILED)
}
