import { once } from 'node:events'
import { stripVTControlCharacters } from 'node:util'
import { built } from '../service/built.ts'
import { startChild } from '../service/child.ts'

export const ROOT = new URL('../../../', import.meta.url).pathname

export type Answer = { when: RegExp; send: string }

export type TerminalResult = { code: number; stdout: string; stderr: string }

type Options = {
  cwd: string
  env: Record<string, string>
  answers?: Answer[]
  stdin?: string /** With colours and all. */
  raw?: boolean
}

/** How a person or a script runs a command. */
export type Way = (args: string[], options: Options) => Promise<TerminalResult>

/** Runs it in a pseudo-terminal: questions get answers, and both outputs are combined. */
export const inTerminal: Way = async (args, { cwd, env, answers = [], raw = false }) => {
  const quoted = [process.execPath, built('cli'), ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`)
  const child = startChild('script', ['-qefc', `stty cols 100 rows 40; exec ${quoted.join(' ')}`, '/dev/null'], {
    cwd,
    env: { ...env, TERM: 'xterm-256color' },
  })
  const waiting = [...answers]
  let screen = ''
  let asked = ''
  child.stdout.on('data', (chunk: Buffer) => {
    screen += chunk
    asked += chunk
    const next = waiting[0]
    if (!next?.when.test(stripVTControlCharacters(asked))) return
    waiting.shift()
    asked = ''
    child.stdin.write(next.send)
  })
  const [code] = (await once(child, 'close')) as [number]
  const text = (raw ? screen : stripVTControlCharacters(screen)).replaceAll('\r\n', '\n')
  return { code, stdout: text, stderr: text }
}

/** Runs it without a terminal, as in a script. If an answer is Ctrl-C, the signal is sent. */
export const inScript: Way = async (args, { cwd, env, answers = [], stdin = '' }) => {
  const child = startChild(process.execPath, [built('cli'), ...args], { cwd, env })
  let interrupt = answers.find(({ send }) => send === '\x03')
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk
    if (!interrupt?.when.test(stdout)) return
    // Only once, because a second one would end the command immediately.
    interrupt = undefined
    child.kill('SIGINT')
  })
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk
  })
  child.stdin.end(stdin)
  const [code] = (await once(child, 'close')) as [number]
  return { code, stdout, stderr }
}

/** Runs `moorage start` until it prints its URL. `stop` ends it as Ctrl-C does. */
export async function startHere(cwd: string, env: Record<string, string>) {
  const child = startChild(process.execPath, [built('cli'), 'start', '--port', '0'], { cwd, env })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk
  })
  while (!output.includes('Try it:')) {
    if (child.exitCode !== null) throw new Error(`moorage start ended:\n${output}`)
    await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  }
  const url = /URL +(\S+)/.exec(output)?.[1] ?? ''
  return {
    url,
    async stop() {
      if (child.exitCode !== null) return child.exitCode
      const exited = once(child, 'exit')
      child.kill('SIGINT')
      const [code] = await exited
      return code as number
    },
  }
}
