// A reporter for `npm test -- --slowest`: lists the slowest tests with their files.
import type { FileTime } from './file-list.ts'

const MOST_TESTS = 40
const MOST_FILES = 10

type TestEvent = {
  type: string
  data: { name: string; nesting: number; details?: { duration_ms: number; type?: string } }
}

export default async function* slowestTests(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const tests: { path: string[]; ms: number }[] = []
  const path: string[] = []
  for await (const { type, data } of events) {
    if (type === 'test:start') path.splice(data.nesting, path.length, data.name)
    if (type !== 'test:pass' && type !== 'test:fail') continue
    // Suites consist of their tests. A test is reported after the tests inside it, which are then removed from the
    // path.
    if (data.details?.type === 'test')
      tests.push({ path: path.slice(0, data.nesting + 1), ms: data.details.duration_ms })
  }
  const slowest = tests.toSorted((one, other) => other.ms - one.ms).slice(0, MOST_TESTS)
  yield `\nThe ${slowest.length} slowest of ${tests.length} tests:\n`
  for (const {
    path: [file, ...names],
    ms,
  } of slowest)
    yield `${seconds(ms)}  ${file}: ${names.join(' › ')}\n`
}

/** The slowest files of a run, as lines of text. */
export function slowestFiles(times: readonly FileTime[]): string[] {
  const slowest = times.toSorted((one, other) => other.ms - one.ms).slice(0, MOST_FILES)
  const lines = slowest.map(({ file, ms, cpuMs }) => `${seconds(ms)} ${seconds(cpuMs)} CPU  ${file}`)
  return [
    `The ${slowest.length} slowest of ${times.length} files, with the processor time of their own process:`,
    ...lines,
  ]
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1).padStart(7)} s`
