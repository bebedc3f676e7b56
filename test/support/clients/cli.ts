import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { after, before } from 'node:test'
import { run } from '../../../src/cli/run.ts'
import type { Migration } from '../../../src/storage/schema/migration.ts'
import { type Service, startService } from '../service/service.ts'

export type CliRun = { code: number; stdout: string; stderr: string }

export type RunOptions = {
  stdin?: string
  env?: Record<string, string>
  /** The working directory. Default: the shell's folder. */
  cwd?: string
  /** As if stdout and stderr were a terminal. */
  isTTY?: boolean
  /** The width of that terminal. */
  columns?: number
  /** Presses Ctrl-C as soon as this returns true for the output so far. */
  stopWhen?: (stdout: string, stderr: string) => boolean
  /** Presses Ctrl-C when this aborts. */
  stop?: AbortSignal
  /** The migrations of another version of the program. */
  migrations?: readonly Migration[]
}

export type Shell = {
  folder: string
  /** Runs one command. It can't ask questions. */
  moorage(args: string[], options?: RunOptions): Promise<CliRun>
  remove(): void
}

/** An empty folder and home in which to run commands. With a service, the commands are its admin's. */
export function newShell(service?: Pick<Service, 'url' | 'admin'>): Shell {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-cli-'))
  const base = {
    HOME: join(folder, 'home'),
    ...(service && { MOORAGE_URL: service.url, MOORAGE_API_KEY: service.admin }),
  }
  return {
    folder,
    async moorage(args, options = {}) {
      const { stdin = '', env = {}, cwd = folder, isTTY = false, columns, stopWhen, stop, migrations } = options
      const interrupt = new AbortController()
      stop?.addEventListener('abort', () => interrupt.abort(), { once: true })
      const look = () => stopWhen?.(stdout.text(), stderr.text()) && interrupt.abort()
      const stdout = collector(isTTY, look, columns)
      const stderr = collector(isTTY, look, columns)
      const streams = { stdin: Readable.from([stdin]), stdout, stderr }
      const world = {
        env: { ...base, ...env },
        cwd,
        serviceFolder: cwd,
        signal: interrupt.signal,
        ...streams,
        ...(migrations && { migrations }),
      }
      const code = await run(args, world)
      return { code, stdout: stdout.text(), stderr: stderr.text() }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** For the tests of one `describe`: a service, and a shell whose commands are its admin's. */
export function shellOfAdmin() {
  return shellBeside((service) => newShell(service))
}

/** The same, with a shell that knows neither the service nor a key. */
export function shellOfNobody() {
  return shellBeside(() => newShell())
}

function shellBeside(open: (service: Service) => Shell): { service: () => Service; shell: () => Shell } {
  let service: Service
  let shell: Shell
  before(async () => {
    service = await startService('sqlite')
    shell = open(service)
  })
  after(async () => {
    shell.remove()
    await service.stop()
  })
  return { service: () => service, shell: () => shell }
}

function collector(isTTY: boolean, onText: () => void, columns?: number) {
  let text = ''
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: Buffer | string, _encoding, done) {
      text += chunk.toString()
      onText()
      done()
    },
  })
  return Object.assign(stream, { isTTY, ...(columns && { columns }), text: () => text })
}
