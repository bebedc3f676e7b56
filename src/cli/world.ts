import type { Readable, Writable } from 'node:stream'
import type { Migration } from '../storage/schema/migration.ts'

type TerminalInput = Readable & { isTTY?: boolean | undefined }
type Output = Writable & { isTTY?: boolean | undefined; columns?: number | undefined }

/** Everything that a command uses from outside. A test gives its own. */
export type World = {
  env: Readonly<Record<string, string | undefined>>
  /** The person's folder. File names are relative to it. */
  cwd: string
  /** The folder in which `moorage.yaml` and `./data` are searched, as the service would. */
  serviceFolder: string
  stdin: TerminalInput
  stdout: Output
  stderr: Output
  /** A program reads the output: messages on stderr are one JSON object per line. */
  isJson?: boolean
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
  /** The migrations that this program knows, if a test gives others. */
  migrations?: readonly Migration[]
}

/** Whether a person can be asked. */
export function isInteractive({ stdin, stderr, env }: World): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && !env.CI
}
