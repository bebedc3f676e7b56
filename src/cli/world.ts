import type { Readable, Writable } from 'node:stream'
import type { Migration } from '../storage/schema/migration.ts'

type TerminalInput = Readable & { isTTY?: boolean | undefined }
type Output = Writable & { isTTY?: boolean | undefined; columns?: number | undefined }

/** Everything outside the program that a command uses. Tests provide their own. */
export type World = {
  env: Readonly<Record<string, string | undefined>>
  /** The person's current folder. File names are relative to it. */
  cwd: string
  /** The folder in which `moorage.yaml` and `./data` are searched, as the service does. */
  serviceFolder: string
  stdin: TerminalInput
  stdout: Output
  stderr: Output
  /** Set if a program reads the output. Each message on stderr is then one JSON object on a line. */
  isJson?: boolean
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
  /** The migrations that this program knows. Tests can provide others. */
  migrations?: readonly Migration[]
}

/** Whether a person can be asked. */
export function isInteractive({ stdin, stderr, env }: World): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && !env.CI
}
