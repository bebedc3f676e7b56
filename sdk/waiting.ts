import type { Invocation, InvocationQueued } from './api.ts'

/** Says in one sentence what a run waits for. */
export function waitingText({ approvals = [], reason }: WaitingRun): string {
  const isSignIn = approvals.length > 0 && approvals.every(({ kind }) => kind === 'connection')
  if (isSignIn) return 'The run waits for a user to sign in.'
  if (approvals.length > 0) return 'The run waits for a person to decide.'
  return reason === undefined ? 'The run waits.' : `The run waits: ${reason.replace(/\.$/, '')}.`
}

type WaitingRun = { approvals?: readonly { kind?: string }[] | undefined } & Pick<InvocationQueued, 'reason'>

/** Why a run waits, if not for people. Its receipt ends with the wait for a pause, a budget or a provider. */
export function waitReason({ status, steps }: Pick<Invocation, 'status' | 'steps'>): string | undefined {
  const last = steps.at(-1)
  return status === 'waiting' && last?.kind === 'wait' ? last.reason : undefined
}
