import type { Invocation } from '../../../sdk/client.ts'
import { waitingText, waitReason } from '../../../sdk/waiting.ts'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { href } from '../../lib/base.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { Failure } from '../failure.tsx'
import { ApprovalCard } from './approval-card.tsx'

const MOST = 20
/** A run that this one has called may ask people later. */
const LIVE_MS = 5_000

type Props = { run: Invocation; agentName: string; onDecided(): void }

/** What a waiting run waits for. People can decide its approvals here. */
export function RunWaits({ run, agentName, onDecided }: Props) {
  const { request_id } = run
  const reason = waitReason(run)
  const isAsked = reason === undefined && may('listApprovals')
  const pending = useResource(
    isAsked ? `approvals of ${request_id}` : undefined,
    (signal) => service.approvals.list({ request_id, status: 'pending', sort: 'created_at', limit: MOST }, { signal }),
    { everyMs: LIVE_MS },
  )
  const approvals = pending.data?.data ?? []
  // A run that it has called may belong to another agent.
  const names = useAgentNames(approvals.some(({ agent_id }) => agent_id !== run.agent_id))
  const isKnown = !isAsked || pending.data !== undefined
  return (
    <>
      {isKnown && (
        <p class="notice">
          {waitingText({ approvals, reason })}{' '}
          {approvals.length > 0 && <a href={href(`/approvals?request=${request_id}`)}>Go to approvals</a>}
        </p>
      )}
      <Failure error={pending.error} retry={pending.reload} />
      {approvals.map((approval) => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          agentName={
            approval.agent_id === run.agent_id ? agentName : (names.data?.get(approval.agent_id) ?? approval.agent_id)
          }
          onDecided={() => {
            pending.reload()
            onDecided()
          }}
        />
      ))}
    </>
  )
}
