import { mock } from 'node:test'
import { type Replacement, steady } from '../running/approved.ts'
import type { CliRun, RunOptions, Shell } from './cli.ts'

/** When every transcript begins, for the service and for the command line. */
const BEGINNING = Date.parse('2027-03-01T09:00:00.000Z')
/** How much later each command is run than the one before. */
const STEP_MS = 61_007

/** Stops the clock of this process. It continues when a transcript says so. */
export function stopClock(): void {
  mock.timers.enable({ apis: ['Date'], now: BEGINNING })
}

/** Lets time pass. */
export function pass(ms: number): void {
  mock.timers.setTime(Date.now() + ms)
}

export function startClock(): void {
  mock.timers.reset()
}

export type Transcript = {
  /** Runs a command line as a shell would read it, and writes down all that it prints. */
  run(line: string, options?: RunOptions): Promise<CliRun>
  /** The same as a table for people, then with --json. The result is that of the second. */
  both(line: string, options?: RunOptions): Promise<CliRun>
  /** A line that says what the commands after it are about. */
  about(title: string): void
  text(more?: readonly Replacement[]): string
}

/** Commands and all that they print: stdout as it is, stderr behind `!`, and each exit code other than 0. */
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

/** Words between spaces; quotes hold several together. */
function wordsOf(line: string): string[] {
  const words = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, one, other) => one ?? other))
}
