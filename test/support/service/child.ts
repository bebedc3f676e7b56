import { type SpawnOptions, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { join } from 'node:path'

// Reads `+pid` and `-pid`, one per line. The pipe closes no matter how its writer dies, even by kill -9. Then the
// processes that are left are ended, and with them the groups that they lead.
const KEEPER = `
pids=' '
while read -r line; do
  pid=\${line#?}
  case $line in
    +*) pids="$pids$pid " ;;
    -*) case $pids in *" $pid "*) pids="\${pids% $pid *} \${pids##* $pid }" ;; esac ;;
  esac
done
for pid in $pids; do kill -KILL "-$pid" || kill -KILL "$pid"; done
`

let keeper: Socket | undefined

/** The environment of every program that a test starts: it finds other programs, and reuses compiled code. */
export function childEnv(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env
  return {
    PATH,
    NODE_COMPILE_CACHE: NODE_COMPILE_CACHE ?? join(import.meta.dirname, '../../../node_modules/.cache/compile'),
  }
}

/** Starts a program that ends with this process at the latest, no matter how this process ends. */
export const startChild = ((command: string, args: readonly string[], options: SpawnOptions = {}) => {
  const child = spawn(command, args, options)
  if (child.pid !== undefined) child.once('exit', endWithUs(child.pid))
  return child
}) as typeof spawn

/** Makes another process end with this one at the latest. Returns a function that undoes this. */
export function endWithUs(pid: number): () => void {
  keeper ??= openKeeper()
  keeper.write(`+${pid}\n`)
  return () => keeper?.write(`-${pid}\n`)
}

function openKeeper(): Socket {
  // detached, because a terminal's Ctrl-C must not reach it before the tests have finished.
  const shell = spawn('/bin/sh', ['-c', KEEPER], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const pipe = shell.stdin as Socket
  shell.unref()
  pipe.unref()
  return pipe
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
