import { useEffect } from 'preact/hooks'
import type { Approval } from '../../../sdk/client.ts'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { waitingApprovals } from '../../lib/approvals/waiting-approvals.ts'
import { param } from '../../lib/location.ts'
import { pageQuery, useShownPage } from '../../lib/page-query.ts'
import { reloadPage, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { ApprovalCard } from '../../ui/approvals/approval-card.tsx'
import { Pager } from '../../ui/data/pager.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ChoiceFilter, TextFilter } from '../../ui/forms/filter.tsx'
import { Page } from '../../ui/page.tsx'

const LIMIT = 20
/** The value of `status` in the URL that shows everything. Without `status`, the page shows pending approvals. */
const EVERYTHING = 'any'

/** Pending approvals, which can be decided here, and past decisions. */
export function ApprovalsPage() {
  const status = param('status') ?? 'pending'
  const query = {
    ...pageQuery(LIMIT),
    sort: status === 'pending' ? ('created_at' as const) : ('-created_at' as const),
    status: status === EVERYTHING ? undefined : (status as Approval['status']),
    kind: param('kind') as Approval['kind'] | undefined,
    agent_id: param('agent'),
    request_id: param('request'),
  }
  const names = useAgentNames()
  const approvals = useResource(
    `approvals ${JSON.stringify(query)}`,
    (signal) => service.approvals.list(query, { signal }),
    { everyMs: 3_000 },
  )
  const shown = useShownPage(approvals)
  const rows = shown?.data
  const isAllThatWaits = status === 'pending' && !query.kind && !query.agent_id && !query.request_id
  const total = approvals.data?.pagination.total
  // The menu shows the same number as the page.
  useEffect(() => {
    if (isAllThatWaits && !approvals.isLoading) waitingApprovals.value = total
  }, [approvals.data])
  return (
    <Page title="Approvals" api={{ operation: 'listApprovals', method: 'approvals.list', query }}>
      <div class="filters">
        <ChoiceFilter
          name="status"
          label="Status"
          all="Waiting"
          choices={['approved', 'rejected', 'expired', 'cancelled', [EVERYTHING, 'Everything']]}
        />
        <ChoiceFilter
          name="kind"
          label="Kind"
          all="All kinds"
          choices={[
            ['tool', 'tool calls'],
            ['question', 'questions'],
            ['retry', 'interrupted calls'],
            ['connection', 'sign-ins'],
          ]}
        />
        <TextFilter name="request" label="Request ID" />
      </div>
      <Failure error={approvals.error} retry={approvals.reload} />
      {rows?.length === 0 && (
        <Empty title="No approvals waiting" filters={['status', 'kind', 'agent', 'request']}>
          <p>
            A tool call waits here for a decision if the tool has <code>approval: always</code>, or if the call's
            arguments meet the tool's approval condition. The run resumes after the decision.
          </p>
        </Empty>
      )}
      <ul class="approvals" aria-label="Approvals">
        {rows?.map((approval) => (
          <li key={approval.id}>
            <ApprovalCard
              approval={approval}
              agentName={names.data?.get(approval.agent_id) ?? approval.agent_id}
              onDecided={reloadPage}
            />
          </li>
        ))}
      </ul>
      <Pager pagination={shown?.pagination} />
    </Page>
  )
}
