import type { Invocation } from '../../../sdk/client.ts'
import { useAgentNames } from '../../lib/agent-names.ts'
import { href } from '../../lib/base.ts'
import { param } from '../../lib/location.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { countText, durationText } from '../../lib/text/format.ts'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter, TextFilter } from '../../ui/forms/filter.tsx'
import { Page } from '../../ui/page.tsx'
import { activityQuery, requestInList } from './activity-query.ts'

const STATUSES = ['queued', 'running', 'waiting', 'completed', 'failed', 'cancelled']
const LIVE_MS = 3_000

/** Invocations of every agent, the newest first; it is live. */
export function ActivityPage() {
  const query = activityQuery()
  const names = useAgentNames()
  const runs = useResource(
    `activity ${JSON.stringify(query)}`,
    (signal) => service.invocations.listAll(query, { signal }),
    { everyMs: LIVE_MS },
  )
  const nameOf = (agent_id: string) => names.data?.get(agent_id) ?? agent_id
  const columns: Column<Invocation>[] = [
    {
      title: 'Message',
      isWide: true,
      cell: ({ request_id, message }) => <a href={href(requestInList(request_id))}>{message || '(empty)'}</a>,
    },
    { title: 'Agent', cell: ({ agent_id }) => nameOf(agent_id) },
    { title: 'Status', cell: ({ status }) => <Status value={status} isLive={status === 'running'} /> },
    { title: 'Version', isExtra: true, cell: ({ version }) => version ?? <span class="soft">working copy</span> },
    {
      title: 'User',
      isExtra: true,
      cell: ({ context }) => <span class="soft">{contextText(context['user_id'])}</span>,
    },
    { title: 'Tokens', isNumber: true, isExtra: true, cell: ({ tokens_used }) => countText(tokens_used) },
    { title: 'Took', isNumber: true, isExtra: true, cell: ({ duration_ms }) => durationText(duration_ms) },
    { title: 'When', isNumber: true, sort: 'created_at', cell: ({ created_at }) => <Ago time={created_at} /> },
  ]
  const isFiltered = ['agent', 'status', 'user', 'session'].some((name) => param(name))
  return (
    <Page title="Activity" api={{ operation: 'listAllInvocations', method: 'invocations.listAll', query }}>
      <div class="filters">
        <ChoiceFilter name="agent" label="Agent" all="Every agent" choices={[...(names.data?.values() ?? [])]} />
        <ChoiceFilter name="status" label="Status" all="Every status" choices={STATUSES} />
        <TextFilter name="user" label="User id" />
        <TextFilter name="session" label="Session id" />
      </div>
      <List
        of={runs}
        error={names.error}
        label="Invocations"
        columns={columns}
        keyOf={({ request_id }) => request_id}
        sort={query.sort}
        empty={
          <Empty title={isFiltered ? 'Nothing matches' : 'No invocation yet'}>
            <p>
              {isFiltered
                ? 'No invocation has passed these filters.'
                : 'Say something to an agent in its playground: it appears here.'}
            </p>
          </Empty>
        }
      />
    </Page>
  )
}

function contextText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
