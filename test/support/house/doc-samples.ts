import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Block = { language: string; text: string }

export type Section = { title: string; blocks: Block[] }

/** The sections of a document (`## …`) and their code blocks, in order. */
export function readSections(markdown: string): Section[] {
  const [, ...parts] = markdown.split(/^## /m)
  return parts.map((part) => ({
    title: part.slice(0, part.indexOf('\n')).trim(),
    blocks: [...part.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => ({
      language,
      text,
    })),
  }))
}

export type Command = {
  text: string
  /** What the comment at its end promises. */
  expected: { status: string; code: string | undefined } | undefined
}

/** The commands of a shell block. A line that ends with a backslash continues. */
export function readCommands({ text }: Block): Command[] {
  const lines = text.replaceAll(/\\\n\s*/g, '').split('\n')
  return lines
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const promise = /^(.*?)\s+# (\d{3})(?: (\w+))?$/.exec(line)
      if (!promise) return { text: line, expected: undefined }
      return { text: promise[1] as string, expected: { status: promise[2] as string, code: promise[3] } }
    })
}

export type Shell = {
  /** Runs one command after the other. Variables that one sets are available to the next. */
  run(command: Command, variables?: Record<string, string>): Promise<{ stdout: string; reply: string }>
}

/** If a request's status is promised, its reply goes to the file `reply` and its status to stdout. */
export function openShell(folder: string, prelude: string, env: Record<string, string>): Shell {
  const state = join(folder, '.variables')
  const reply = join(folder, '.reply')
  writeFileSync(state, '')
  return {
    run: ({ text, expected }, variables = {}) => {
      writeFileSync(reply, '')
      const script = [
        `set -eu; source '${state}'`,
        ...Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`),
        prelude,
        expected ? `curl() { command curl -sS --max-time 20 -o '${reply}' -w '%{http_code}' "$@"; }` : '',
        `set -a\n${text}\nset +a`,
        `export -p > '${state}'`,
      ].join('\n')
      return new Promise((resolve, reject) => {
        execFile('bash', ['-c', script], { cwd: folder, env, timeout: 120_000 }, (error, stdout, stderr) => {
          if (error) reject(new Error(`${text}\n${stdout}${stderr}`, { cause: error }))
          else resolve({ stdout, reply })
        })
      })
    },
  }
}
