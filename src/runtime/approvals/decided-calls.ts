import type { PendingCall } from '../next-step.ts'
import type { Step } from '../steps.ts'
import type { Ruling } from './ask.ts'

const PATH_SAFE = /^[A-Za-z0-9_-]{1,128}$/

/**
 * Returns a call's ID within its run: the ID that the model gave it if that is unique and can be part of a path,
 * otherwise the call's number.
 */
export function callIdOf({ call: { id }, number }: PendingCall, steps: readonly Step[]): string {
  const calls = steps.flatMap((step) => (step.kind === 'model' ? step.answer.calls : []))
  const isOnly = calls.filter((other) => other.id === id).length === 1
  return isOnly && PATH_SAFE.test(id) ? id : `step-${number}`
}

/** The message to the model about a call that a person didn't allow. */
export function refusalOf({ kind, decision, note }: Ruling, unknown: string): { error: string } {
  const why = note === undefined ? '' : `: ${note}`
  if (kind === 'retry') return { error: `${unknown}${why}` }
  if (kind === 'connection')
    return { error: `The user did not sign in${decision === 'expired' ? ' in time' : ''}, so it was not called${why}` }
  if (decision === 'expired')
    return { error: 'No person decided in time' + (kind === 'tool' ? ', so it was not called' : '') }
  return { error: kind === 'question' ? `The person did not answer${why}` : `A person rejected this call${why}` }
}
