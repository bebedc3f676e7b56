import type { Step } from './generate.ts'
import type { Failure } from './simulate.ts'

const MOST_MS = 60_000

/**
 * Leaves out steps as long as something is still wrong: first many at once, then one by one. Scripts are data, so what is
 * left can be played as it is.
 */
export async function shorten(
  failure: Failure,
  play: (steps: Step[]) => Promise<string | undefined>,
): Promise<Failure> {
  const end = performance.now() + MOST_MS
  let { steps: left, wrong: last } = failure
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < left.length && performance.now() < end; ) {
      const steps = left.toSpliced(at, size)
      const wrong = await play(steps)
      if (wrong === undefined || kindOf(wrong) !== kindOf(failure.wrong)) at += size
      else {
        left = steps
        last = wrong
      }
    }
  }
  return { ...failure, steps: left, wrong: last }
}

/** The same mistake, whatever the things are called: what was promised may differ in its numbers and names. */
function kindOf(wrong: string): string {
  const line = wrong.split('\n').find((one) => /"do":/.test(one)) ?? ''
  const act = /"do":"([^"]+)"/.exec(line)?.[1] ?? ''
  const statuses = [...wrong.matchAll(/^ {2}\w+ \{"status":(\d+)/gm)].map(([, status]) => status)
  return `${act} ${statuses.join(' ')} ${act === '' ? wrong.slice(0, 40).replaceAll(/\d+/g, 'n') : ''}`
}
