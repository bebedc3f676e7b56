import fc from 'fast-check'
import { PATIENCE } from './patience.ts'

/** A property takes seconds, and many times as long on a busy machine. */
const PROPERTY_MS = 100_000 * PATIENCE
const SHRINK_MS = 5_000

// Every run tries the same inputs, so none fails by chance. Set the seed to try others. A property that is interrupted
// has not been shown, so that is a failure.
fc.configureGlobal({
  seed: Number(process.env['MOORAGE_TEST_SEED'] ?? 20_261_115),
  interruptAfterTimeLimit: PROPERTY_MS,
  markInterruptAsFailure: true,
})

/** How many inputs are tried. `npm test` tries the first third of those that test:all tries. */
export const tries = (count: number) => (process.env['MOORAGE_TEST_ALL'] ? count : Math.ceil(count / 3))

/** Limits the search for a smaller failing input to a few seconds. */
export function boundedShrinking(limitMs = SHRINK_MS, now = () => performance.now()): Plugin {
  return () => {
    let failedAt: number | undefined
    const see = (outcome: Outcome): Outcome => {
      if (outcome !== null && 'error' in outcome) failedAt ??= now()
      return outcome
    }
    return {
      decorateRun: (run) => (value) => {
        if (failedAt !== undefined && now() - failedAt > limitMs) return new fc.PreconditionFailure(true)
        const outcome = run(value)
        return outcome instanceof Promise ? outcome.then(see) : see(outcome)
      },
    }
  }
}

fc.installGlobalPlugin(boundedShrinking())

type Plugin = Parameters<typeof fc.installGlobalPlugin>[0]
type Outcome = Awaited<ReturnType<Parameters<NonNullable<ReturnType<Plugin>['decorateRun']>>[0]>>

export { fc }
