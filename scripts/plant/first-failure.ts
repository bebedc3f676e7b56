// A reporter of the runner: writes which tests fail, and ends the process at the first one if it is told to.
import { appendFileSync } from 'node:fs'

/** A line for each failed test goes to the file of the first; the process ends with the first of them if the second is set. */
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
