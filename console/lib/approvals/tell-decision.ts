import type { Approval } from '../../../sdk/client.ts'
import { pauseState } from '../projects/pause-state.ts'
import { service } from '../service.ts'
import { counted } from '../text/format.ts'
import { toast } from '../toasts.ts'

/** Says that a decision was stored, and what it means for the run, which may need more decisions. */
export async function tellDecision({ request_id }: Approval, done: string): Promise<void> {
  const pending = await service.approvals.list({ request_id, status: 'pending', limit: 1 }).catch(() => undefined)
  toast(pending ? `${done}. ${whatNow(pending.pagination.total)}` : done)
}

function whatNow(pending: number): string {
  if (pending > 0) return `The run still waits for ${counted(pending, 'more decision', 'more decisions')}.`
  return pauseState.value?.paused ? 'The run resumes when the pause ends.' : 'The run resumes.'
}
