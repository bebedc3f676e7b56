import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { chown, readFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { delimiter, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { PATIENCE } from '../running/patience.ts'
import { storeFolder } from './store-folder.ts'

export type Account = { uid?: number; gid?: number }

export type Daemon = {
  folder: string
  run(command: string, args: string[], isReady: (pid: number) => Promise<boolean>): Promise<void>
  stop(signal: NodeJS.Signals): Promise<void>
  remove(): Promise<void>
}

const READY_WITHIN_MS = 240_000 * PATIENCE

// Reads the ID of the process to end, or an empty line for none. The pipe closes no matter how its writer dies, even by
// kill -9.
const KEEPER = `
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
  kill -QUIT "$pid"
  for try in $(seq 20); do kill -0 "$pid" || break; sleep 0.05; done
fi
rm -rf "$1"
`

/** A server in its own folder. Both disappear with this process, and neither keeps it running. */
export async function createDaemon(name: string, account: Account = {}): Promise<Daemon> {
  const folder = await storeFolder(name)
  if (account.uid !== undefined && account.gid !== undefined) await chown(folder, account.uid, account.gid)
  const log = join(folder, 'log')
  // detached, because a terminal's Ctrl-C must reach neither the keeper nor the server before the tests have finished
  // with it.
  const keeper = spawn('/bin/sh', ['-c', KEEPER, 'keeper', folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const pipe = keeper.stdin as Socket
  keeper.unref()
  pipe.unref()
  let server: ChildProcess | undefined

  return {
    folder,
    async run(command, args, isReady) {
      const output = openSync(log, 'a')
      const child = spawn(command, args, { ...account, cwd: folder, detached: true, stdio: ['ignore', output, output] })
      closeSync(output)
      let failure: string | undefined
      child.on('error', (error) => {
        failure = error.message
      })
      child.on('exit', (code, signal) => {
        failure = `ended with ${signal ?? code}`
        if (server === child) pipe.write('\n')
      })
      child.unref()
      server = child
      if (child.pid) pipe.write(`${child.pid}\n`)

      const deadline = performance.now() + READY_WITHIN_MS
      while (failure !== undefined || !(await isReady(child.pid ?? 0))) {
        if (performance.now() > deadline) failure = `was not ready within ${READY_WITHIN_MS} ms`
        if (failure) throw new Error(`${command} ${failure}:\n${await readFile(log, 'utf8')}`)
        await delay(5)
      }
    },
    async stop(signal) {
      if (!server || server.exitCode !== null || server.signalCode !== null) return
      server.ref()
      const ended = once(server, 'exit')
      server.kill(signal)
      await ended
    },
    async remove() {
      keeper.ref()
      pipe.end()
      if (keeper.exitCode === null) await once(keeper, 'exit')
    },
  }
}

/** Whether something listens on a port of this machine. */
export function accepts(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => answer(false))
    socket.once('connect', () => {
      socket.destroy()
      answer(true)
    })
  })
}

/** A port below the range that systems assign automatically, so a stopped server finds its port free again. */
export async function unusedPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const probe = createServer()
    const free = await new Promise<boolean>((answer) => {
      probe.once('error', () => answer(false))
      probe.listen(port, '127.0.0.1', () => probe.close(() => answer(true)))
    })
    if (free) return port
  }
}

/** The first of these names that is found in PATH. A whole path is used as it is. */
export function findExecutable(...names: string[]): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const candidates = names.flatMap((name) => folders.map((folder) => resolve(folder, name)))
  return candidates.find((file) => {
    try {
      accessSync(file, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
