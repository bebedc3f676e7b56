import type { Invocation } from '../../../sdk/client.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { Failure } from '../failure.tsx'
import { ApprovalCard } from './approval-card.tsx'

const MOST = 20

type Props = { run: Invocation; agentName: string; onDecided(): void }

/** What people are asked before this run resumes, to be decided where it is shown. */
export function RunApprovals({ run: { request_id }, agentName, onDecided }: Props) {
  const key = may('listApprovals') ? `approvals of ${request_id}` : undefined
  const pending = useResource(key, (signal) =>
    service.approvals.list({ request_id, status: 'pending', sort: 'created_at', limit: MOST }, { signal }),
  )
  return (
    <>
      <Failure error={pending.error} retry={pending.reload} />
      {pending.data?.data.map((approval) => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          agentName={agentName}
          onDecided={() => {
            pending.reload()
            onDecided()
          }}
        />
      ))}
    </>
  )
}
