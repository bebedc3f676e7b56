import type { Invocation, InvocationStep } from '../../../sdk/client.ts'

/** Why another attempt of the run began before this step. Undefined if the attempt is the same as that of the step before. */
export function attemptBefore(steps: readonly InvocationStep[], position: number): string | undefined {
  const step = steps[position]
  const before = steps[position - 1]
  const last = before?.attempt ?? 1
  if (!step || step.attempt <= last) return undefined
  const begins = `Attempt ${step.attempt}`
  if (before?.kind === 'wait' || step.kind === 'wait' || step.kind === 'approval') return `${begins}: it had waited`
  const lost = last === step.attempt - 1 ? `attempt ${last}` : `attempts ${last} to ${step.attempt - 1}`
  return `${begins}: the service stopped or died in ${lost}, while it ${doing(step)}`
}

/** The attempt that has ended no step yet, or none at all. */
export function attemptAfter({ steps, attempts, status, finished_at }: Invocation): string | undefined {
  const last = steps.at(-1)?.attempt ?? 1
  if (attempts <= last || steps.at(-1)?.kind === 'wait' || status === 'waiting') return undefined
  const lost = `the service stopped or died in attempt ${attempts - 1}`
  return finished_at === null
    ? `Attempt ${attempts} is under way: ${lost}`
    : `Attempt ${attempts} ended no step: ${lost}`
}

/** What was cut off is what the next attempt did first. */
function doing(step: InvocationStep): string {
  if (step.kind === 'tool') return `called ${step.name}`
  return step.kind === 'recall' ? 'looked into its memory' : 'asked the model'
}
