// What each process that runs tests does: it takes one file after the other from a list that the processes share, so
// that all are busy until the end.
import { mkdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { after, describe } from 'node:test'
import { pathToFileURL } from 'node:url'
import { watchFiles } from './time-limit.ts'

const ROOT = join(import.meta.dirname, '../../..')
const GRACE_MS = 30_000

/** `folder` holds the list, `files.json`, and a mark for each file that somebody has taken. */
export async function takeFiles(folder: string, graceMs = GRACE_MS): Promise<void> {
  const watch = watchFiles()
  const files = JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8')) as string[]
  for (const [index, file] of files.entries()) {
    if (!mark(join(folder, String(index)))) continue
    const name = relative(ROOT, file)
    watch.begin(name)
    await runFile(name, pathToFileURL(file).href)
  }
  watch.end()
  failIfLeftOpen(graceMs)
}

/** The file in a `describe` of its own, so that its hooks are for its own tests. Resolves when the last of them is done. */
function runFile(name: string, url: string): Promise<void> {
  return new Promise((resolve) => {
    describe(name, async () => {
      after(() => resolve())
      await import(url)
    })
  })
}

/** What a test leaves open would hold this process for ever. The timer itself does not. */
function failIfLeftOpen(graceMs: number): void {
  const tell = () => {
    console.error(`left open after the last test: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }
  setTimeout(tell, graceMs).unref()
}

/** Whether nobody has made the mark before. */
function mark(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch {
    return false
  }
}
