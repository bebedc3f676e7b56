// A reporter for Node's test runner: it writes down failed tests and can end the process at the first one.
import { appendFileSync } from 'node:fs'

/** Variables of the environment: the file that gets a line per failed test, and whether the first failure ends the process. */
export const FAILURES = 'MOORAGE_PLANT_FAILURES'
export const STOPS = 'MOORAGE_PLANT_STOPS'

export type Failure = { file: string; test: string }

type TestEvent = {
  type: string
  data: { name: string; nesting: number; details?: { passed?: boolean; error?: Error & { failureType?: string } } }
}

export default async function* firstFailure(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const path: string[] = []
  const failures = process.env[FAILURES] ?? ''
  for await (const { type, data } of events) {
    if (type === 'test:dequeue') path.splice(data.nesting, path.length, data.name)
    const error = data.details?.error
    if (type !== 'test:complete' || data.details?.passed !== false || error?.failureType === 'subtestsFailed') continue
    const { cause } = error ?? {}
    const message = (cause instanceof Error ? cause.message : String(cause ?? error)).split('\n')[0]
    const test = `${[...path.slice(1, data.nesting), data.name].join(' › ')}: ${message}`
    appendFileSync(failures, `${JSON.stringify({ file: path[0] ?? '', test } satisfies Failure)}\n`)
    if (process.env[STOPS]) process.exit(1)
  }
  yield ''
}
