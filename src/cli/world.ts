import type { Readable, Writable } from 'node:stream'

type Input = Readable & { isTTY?: boolean | undefined }
type Output = Writable & { isTTY?: boolean | undefined; columns?: number | undefined }

/** Everything a command touches outside itself; a test hands in its own. */
export type World = {
  env: Readonly<Record<string, string | undefined>>
  /** Where the person stands: files are named from here. */
  cwd: string
  /** Where `moorage.yaml` and `./data` are looked for, as the service would. */
  serviceFolder: string
  stdin: Input
  stdout: Output
  stderr: Output
  /** A program reads along: what else goes to stderr is one JSON object a line. */
  isJson?: boolean
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
}

/** Somebody sits there and can be asked. */
export function isInteractive({ stdin, stderr, env }: World): boolean {
  return stdin.isTTY === true && stderr.isTTY === true && !env.CI
}
