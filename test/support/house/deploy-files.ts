import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { startChild } from '../service/child.ts'
import { ROOT } from './docs.ts'

export const run = promisify(execFile)

export function readDeployFile(name: string): string {
  return readFileSync(new URL(`deploy/${name}`, ROOT), 'utf8')
}

export type Instruction = { name: string; value: string }

/** The instructions of a Dockerfile, without comments. Continued lines are joined. */
export function instructionsOf(dockerfile: string): Instruction[] {
  return dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', value = ''] = /^([A-Z]+)\s+(.+)$/.exec(line) ?? []
      return { name, value }
    })
}

/** `A=1 B=2` as an object. */
export function variablesOf(assignments: string): Record<string, string> {
  return Object.fromEntries(assignments.split(/\s+/).map((pair) => pair.split(/=(.*)/s).slice(0, 2)))
}

export type StartedDeploy = { url: string; key: string; printed(): string; stop(): Promise<number | null> }

/** Starts the service with a command from a deployment file. Resolves with the URL that it prints. */
export async function startByCommand(
  t: TestContext,
  [program = '', ...args]: string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<StartedDeploy> {
  const child = startChild(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    output += chunk
    if (output.includes('-d \'{"message"')) break
  }
  const url = /^ {2}URL +(\S+)$/m.exec(output)?.[1]
  if (!url) throw new Error(`the service did not print its URL: ${output}`)
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  return {
    url,
    key: /^ {2}Key +(mrg_\w+)/m.exec(output)?.[1] ?? '',
    printed: () => output,
    async stop() {
      child.kill('SIGTERM')
      const [code] = await exited
      return code
    },
  }
}
