// Knows which test files execute a line. A file is measured once, and again when it or the sources that it executes change.
import { hash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { openFileList, writeFileList } from '../../test/support/running/file-list.ts'
import { BUILT, type Executed, isLineIn, type Lines, linesIn } from './keep-executed.ts'
import type { Mistake } from './mistakes.ts'
import { ended, failuresIn, startProcess } from './run-files.ts'
import type { TestBed } from './test-bed.ts'

const KEPT = 'node_modules/.cache/planted/executed.json'

/** What one test file executes, with the hash of its text. */
type Measured = { ms: number; hash: string; sources: Record<string, Lines> }

export type ExecutedBy = {
  /** The test files that execute the line of a mistake, beginning with those that execute most of its source per second. */
  filesFor(mistake: Mistake): string[]
  msOf(file: string): number
  /** Whether it starts the built service, or the built command line. */
  needsBuild(file: string): boolean
}

export async function measureExecuted(
  original: string,
  { folders, tests }: { folders: readonly string[]; tests: readonly string[] },
  bed: TestBed,
): Promise<ExecutedBy> {
  const kept = readKept(original)
  const files = globSync('test/**/*.test.ts', { cwd: original }).filter(
    (file) => !file.startsWith('test/whole/') && (tests.length === 0 || tests.some((name) => file.includes(name))),
  )
  const isChanged = (source: string, lines: Lines) =>
    folders.some((folder) => source.startsWith(folder)) && hashOf(original, source) !== lines.hash
  const stale = files.filter((file) => {
    const measured = kept[file]
    if (measured?.hash !== hashOf(original, file)) return true
    return Object.entries(measured.sources).some(([source, lines]) => isChanged(source, lines))
  })
  if (stale.length > 0) {
    console.log(`Measuring what ${stale.length} of ${files.length} test files execute …`)
    await bed.build()
    for (const file of stale) delete kept[file]
    Object.assign(kept, await measure(stale, bed))
    mkdirSync(dirname(join(original, KEPT)), { recursive: true })
    writeFileSync(join(original, KEPT), JSON.stringify(kept))
  }
  return executedBy(new Map(files.flatMap((file) => (kept[file] ? [[file, kept[file]]] : []))))
}

async function measure(files: string[], bed: TestBed): Promise<Record<string, Measured>> {
  const list = mkdtempSync(join(bed.folder, 'list-'))
  writeFileList(list, files)
  const env = { ...bed.env, NODE_V8_COVERAGE: mkdtempSync(join(bed.folder, 'coverage-')) }
  const count = Math.min(files.length, availableParallelism() + 2)
  await Promise.all(Array.from({ length: count }, () => ended(startProcess(bed.root, list, env, true))))
  const executed = globSync('executed-*.json', { cwd: list }).map(
    (name) => JSON.parse(readFileSync(join(list, name), 'utf8')) as Executed,
  )
  const sourcesOf = new Map(executed.map(({ file, sources }) => [file, sources]))
  const failed = failuresIn(list)
  for (const { file, test } of failed) console.error(`${file} fails without a mistake, and is left out: ${test}`)
  const measured = openFileList(list)
    .times()
    .filter(({ file }) => !failed.some((failure) => failure.file === file))
    .map(({ file, ms }) => [file, { ms, hash: hashOf(bed.root, file), sources: sourcesOf.get(file) ?? {} }])
  for (const line of openFileList(list).cutShort()) console.error(line)
  rmSync(list, { recursive: true })
  rmSync(env.NODE_V8_COVERAGE, { recursive: true })
  await bed.clear()
  return Object.fromEntries(measured)
}

function executedBy(measured: Map<string, Measured>): ExecutedBy {
  const bitsOf = (file: string, source: string) =>
    Buffer.from(measured.get(file)?.sources[source]?.bits ?? '', 'base64')
  const msOf = (file: string) => measured.get(file)?.ms ?? 0
  return {
    msOf,
    needsBuild: (file) => bitsOf(file, BUILT).length > 0,
    filesFor({ file: source, line, lastLine }) {
      const all = [...measured.keys()]
      const executing = all.filter((file) => {
        const bits = bitsOf(file, source)
        return range(line, lastLine).some((at) => isLineIn(bits, at))
      })
      // A line outside of functions runs on import, so every test file that uses the module could notice the mistake. What
      // runs only in processes that tests start is not seen, so every test file that starts one could notice it.
      const using = executing.length > 0 ? executing : all.filter((file) => bitsOf(file, source).length > 0)
      const candidates = using.length > 0 ? using : all.filter((file) => bitsOf(file, BUILT).length > 0)
      const cost = (file: string) => msOf(file) / (1 + linesIn(bitsOf(file, source)))
      return candidates.toSorted((one, other) => cost(one) - cost(other))
    },
  }
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

function hashOf(root: string, file: string): string {
  const path = join(root, file)
  return existsSync(path) ? hash('sha256', readFileSync(path)) : ''
}

function readKept(root: string): Record<string, Measured> {
  try {
    return JSON.parse(readFileSync(join(root, KEPT), 'utf8'))
  } catch {
    return {}
  }
}
