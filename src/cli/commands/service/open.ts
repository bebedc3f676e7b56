import { spawn } from 'node:child_process'
import type { Command } from 'commander'
import { takesStore } from '../../command.ts'
import { type Common, isLocal, withClientOrStore } from '../../connect/connect.ts'
import { addressOf } from '../../connect/service-address.ts'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { storeCommands } from '../../from-operations/operation-command.ts'
import { note, print, printJson } from '../../terminal/output.ts'
import { isInteractive, type World } from '../../world.ts'

const OPENERS: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

type OpenOptions = Common & { docs?: boolean; key?: string }

export function open(command: Command, world: World): void {
  takesStore(command)
    .option('--docs', 'open the API reference instead of the console')
    .option('--key <id>', 'sign in with this key, on the server (default: the oldest admin key)')
    .action(async (options: OpenOptions) => {
      const base = await baseOf(world, options)
      const url = options.docs ? new URL('/docs', base).href : await consoleLink(world, options, base)
      if (options.json) printJson(world, { url })
      else print(world, url)
      if (!isInteractive(world)) return
      const [opener, ...args] = OPENERS[process.platform] ?? ['xdg-open']
      const child = spawn(opener, [...args, url], { stdio: 'ignore', detached: true })
      const opened = await new Promise<boolean>((resolve) => {
        child.once('spawn', () => resolve(true))
        child.once('error', () => resolve(false))
      })
      child.unref()
      if (!opened) note(world, 'No browser found. Open this URL:')
    })
}

/** The console's URL. For this machine's store, it comes from the configuration. */
async function baseOf(world: World, options: OpenOptions): Promise<string> {
  const { url, isNamed } = addressOf(world, options)
  if (isNamed || !isLocal(world, options)) return url
  const { readConfig } = await import('../../connect/local-store.ts')
  const { server } = readConfig(world, options)
  if (server.publicUrl) return server.publicUrl
  const host = LOOPBACK_OF[server.host] ?? server.host
  return `${server.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${server.port}`
}

/** A service that listens on all addresses is reached on this machine at the loopback address. */
const LOOPBACK_OF: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** A link that signs in. The token comes after the `#`, so no server or proxy logs it. */
async function consoleLink(world: World, options: OpenOptions, base: string): Promise<string> {
  const body = options.key === undefined ? {} : { key_id: options.key }
  const { token } = await withClientOrStore(world, options, (client) => client.console.createLink(body, options))
  note(world, 'The link is valid once, for 10 minutes.', 'dim')
  return `${base.replace(/\/$/, '')}/#link=${token}`
}

const SPECS: CommandSpecs = {
  createConsoleLink: false,
  listConsoleSessions: {
    name: 'sessions',
    about: 'List who is signed in to the console',
    columns: {
      of: [
        'id',
        ['WHO', ({ person_name, key_name }) => person_name ?? key_name],
        ['FROM', ({ address }) => address],
        ['SIGNED IN', ({ created_at }) => created_at],
        'last_used_at',
        ['ENDS', ({ expires_at }) => expires_at],
      ],
    },
  },
  endConsoleSession: {
    name: 'sign-out',
    about: 'End a console session. The browser must sign in again',
    confirm: 'End the session {}?',
    done: 'Ended {}',
  },
}

const consoleSessions = storeCommands('console', SPECS)

export { consoleSessions as console }
