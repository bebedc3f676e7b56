import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { childEnv, startChild } from '../service/child.ts'

export const ROOT = new URL('../../../', import.meta.url)

export type Block = { language: string; code: string; line: number }

export function readDoc(name: string): string {
  return readFileSync(new URL(name, ROOT), 'utf8')
}

/** Fenced code blocks in order, except those after a comment that says `not run` and why. */
export function codeBlocks(markdown: string): Block[] {
  const blocks: Block[] = []
  for (const match of markdown.matchAll(/(<!-- not run: .+ -->\n)?^```(\w+)\n([\s\S]*?)^```$/gm)) {
    const [, skipped, language = '', code = ''] = match
    const line = markdown.slice(0, match.index).split('\n').length
    if (!skipped) blocks.push({ language, code, line })
  }
  return blocks
}

/** The commands one by one. A line that ends with a backslash or inside quotes continues. */
export function commandsOf(code: string): string[] {
  const commands: string[] = []
  let open = ''
  for (const line of code.replaceAll('\\\n', ' ').split('\n')) {
    open = open === '' ? line : `${open}\n${line}`
    if (isInsideQuotes(open)) continue
    if (open.trim() !== '' && !open.startsWith('#')) commands.push(open)
    open = ''
  }
  return commands
}

function isInsideQuotes(text: string): boolean {
  let quote = ''
  for (const character of text) {
    if (quote === '') quote = character === "'" || character === '"' ? character : ''
    else if (character === quote) quote = ''
  }
  return quote !== ''
}

export type Bash = {
  /** Runs one command in a shell that keeps its folder, variables and aliases. */
  run(command: string): Promise<{ code: number; output: string }>
  close(): void
}

const END = '--end-of-command--'

export function openBash(cwd: string, env: Record<string, string>): Bash {
  const child = startChild('bash', ['--norc', '--noprofile'], {
    cwd,
    env: { ...childEnv(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  // Here, an error in a reply makes the command fail. For readers who try the sample, it doesn't.
  child.stdin.write('shopt -s expand_aliases; set -o pipefail; exec 2>&1\n')
  child.stdin.write('curl() { command curl --silent --show-error --fail-with-body "$@"; }\n')
  return {
    async run(command) {
      child.stdin.write(`${command}\n__code=$?; echo; echo "${END} $__code"\n`)
      let output = ''
      for (;;) {
        const { value, done } = await lines.next()
        if (done) throw new Error(`bash ended in the middle of: ${command}\n${output}`)
        if (value.startsWith(END)) return { code: Number(value.slice(END.length)), output: output.trimEnd() }
        output += `${value}\n`
      }
    },
    close() {
      child.stdin.end('exit\n')
    },
  }
}
