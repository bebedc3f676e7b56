// How long test files take. The longest start first, because a long one that starts last would run alone at the end.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { FileTime } from './file-list.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

/** What this clone measured. */
const MEASURED = resolve(ROOT, 'node_modules/.cache/test-durations.json')
/**
 * The times with which a clone starts that has not run the tests yet. `npm run test:all -- --keep-durations` writes it.
 */
const KEPT = resolve(ROOT, 'test/fixtures/test-durations.json')
/** Faster files can start in any order. */
const LEAST_SECONDS = 3

type Seconds = Record<string, number>

/** The files, longest first. A file that has never run may take long too, so it starts early. */
export function longestFirst(files: readonly string[]): string[] {
  const measured = read(MEASURED)
  const kept = read(KEPT)
  const secondsOf = (file: string) => measured[file] ?? kept[file] ?? LEAST_SECONDS
  return files.toSorted((one, other) => secondsOf(other) - secondsOf(one) || (one < other ? -1 : 1))
}

/** Stores how long the files of a run took. Files that didn't run keep their earlier times. */
export function rememberTimes(times: readonly FileTime[]): void {
  const seconds = times.map(({ file, ms }) => [file, Math.round(ms / 100) / 10])
  write(MEASURED, { ...read(MEASURED), ...Object.fromEntries(seconds) })
}

/**
 * Writes the times with which every clone starts: what this clone has measured for existing files, without the fast
 * ones.
 */
export function keepTimes(): void {
  const known = Object.entries({ ...read(KEPT), ...read(MEASURED) })
  const slow = known.filter(([file, seconds]) => seconds > LEAST_SECONDS && existsSync(resolve(ROOT, file)))
  write(KEPT, Object.fromEntries(slow.map(([file, seconds]) => [file, Math.round(seconds)])))
}

function read(path: string): Seconds {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return {}
  }
}

function write(path: string, seconds: Seconds): void {
  const sorted = Object.fromEntries(Object.entries(seconds).toSorted(([one], [other]) => (one < other ? -1 : 1)))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(sorted, null, 2)}\n`)
}
