import type { InvocationQueued } from './api.ts'

/** Says in one sentence what a run waits for. */
export function waitingText({ approvals = [], reason }: Pick<InvocationQueued, 'approvals' | 'reason'>): string {
  if (approvals.length > 0) return 'The run waits for a person to decide.'
  return reason === undefined ? 'The run waits.' : `The run waits: ${reason}.`
}
