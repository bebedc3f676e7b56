import { signal } from '@preact/signals'
import { useAskedAgain } from '../projects/asked-again.ts'
import { service } from '../service.ts'

/** How many approvals wait for a person. Undefined until they have been counted. */
export const waitingApprovals = signal<number | undefined>(undefined)

/** Checks regularly how many approvals are pending, if the key may see them. */
export function useWaitingApprovals(): number | undefined {
  return useAskedAgain(waitingApprovals, {
    what: 'waiting approvals',
    feature: 'listApprovals',
    ask: (life) => service.approvals.list({ status: 'pending', limit: 1 }, { signal: life }),
    answerOf: ({ pagination }) => pagination.total,
    firstMs: 2_000,
    everyMs: 20_000,
  })
}
