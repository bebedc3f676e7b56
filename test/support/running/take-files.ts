// What each process that runs tests does: it takes one file after the other from a list that the processes share, so
// all are busy until the end.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openFileList } from './file-list.ts'
import { loadRunner, type Runner } from './load-runner.ts'
import { watchFiles } from './time-limit.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const GRACE_MS = 30_000

type Limits = { graceMs?: number; fileMs?: number; standstillMs?: number }
type Options = Limits & { ended?: (file: string) => void }

export async function takeFiles(folder: string, options: Options = {}): Promise<void> {
  const { graceMs = GRACE_MS, ended, ...limits } = options
  const list = openFileList(folder)
  const watch = watchFiles(list.notes, limits)
  const runner = await loadRunner()
  let current = ''
  // The runner fails the run because of this error, but doesn't know to which test it belongs.
  const noteUncaught = (error: unknown) => list.note(`${current} has thrown what no test caught: ${textOf(error)}`)
  process.on('uncaughtExceptionMonitor', noteUncaught).on('unhandledRejection', noteUncaught)
  for (const file of list.take()) {
    current = file
    watch.begin(file)
    await runFile(runner, file)
    ended?.(file)
  }
  watch.end()
  failIfLeftOpen(list.note, graceMs)
}

/**
 * Puts the file into a `describe`, so that its hooks apply only to its own tests. Resolves when the last of them is
 * done.
 */
function runFile({ after, describe, follow }: Runner, file: string): Promise<void> {
  return new Promise((ended) => {
    follow(true)
    describe(file, async () => {
      after(() => ended())
      await import(pathToFileURL(resolve(ROOT, file)).href).finally(() => follow(false))
    })
  })
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** What a test leaves open would keep this process running forever. The timer itself doesn't. */
function failIfLeftOpen(note: (line: string) => void, graceMs: number): void {
  const tell = () => {
    note(`left open after the last test of a process: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }
  setTimeout(tell, graceMs).unref()
}
