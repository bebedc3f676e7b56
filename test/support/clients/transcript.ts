import { mock } from 'node:test'
import { type Replacement, steady } from '../running/approved.ts'
import type { CliRun, RunOptions, Shell } from './cli.ts'

/** The time at which every transcript begins, for the service and for the command line. */
const BEGINNING = Date.parse('2027-03-01T09:00:00.000Z')
/** How much time passes between two commands. */
const STEP_MS = 61_007

/** Stops this process's clock. It advances only when a transcript says so. */
export function stopClock(): void {
  mock.timers.enable({ apis: ['Date'], now: BEGINNING })
}

/** Advances the clock. */
export function pass(ms: number): void {
  mock.timers.setTime(Date.now() + ms)
}

export function startClock(): void {
  mock.timers.reset()
}

export type Transcript = {
  /** Runs a command line as a shell would read it, and records everything that it prints. */
  run(line: string, options?: RunOptions): Promise<CliRun>
  /** Runs a command first as a table for people, then with --json. Returns the second result. */
  both(line: string, options?: RunOptions): Promise<CliRun>
  /** Adds a line that says what the following commands are about. */
  about(title: string): void
  text(more?: readonly Replacement[]): string
}

/** Records commands and all their output: stdout unchanged, stderr after `!`, and each exit code other than 0. */
export function transcriptOf(shell: () => Shell): Transcript {
  let written = ''
  const transcript: Transcript = {
    async run(line, options = {}) {
      pass(STEP_MS)
      const told = await shell().moorage(wordsOf(line), options)
      const given = options.stdin ? ` <<< ${JSON.stringify(options.stdin)}` : ''
      const end = told.code === 0 ? '' : `exit code ${told.code}\n`
      written += `$ moorage ${line}${given}\n${ended(told.stdout)}${marked(told.stderr)}${end}\n`
      return told
    },
    async both(line, options = {}) {
      await transcript.run(line, options)
      return transcript.run(`${line} --json`, options)
    },
    about(title) {
      written += `== ${title} ==\n\n`
    },
    text: (more = []) => steady(written.replaceAll(shell().folder, '<folder>'), more, { keepsTimes: true }),
  }
  return transcript
}

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

function marked(text: string): string {
  return ended(text).replaceAll(/^/gm, '! ').replace(/! $/, '')
}

/** Words between spaces. Quotes combine several words. */
function wordsOf(line: string): string[] {
  const words = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, one, other) => one ?? other))
}
