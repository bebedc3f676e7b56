import type { Invocation } from '../../../sdk/client.ts'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { href } from '../../lib/base.ts'
import { service } from '../../lib/service.ts'
import { countText, durationText } from '../../lib/text/format.ts'
import { Cost } from '../../ui/data/cost.tsx'
import { LongList } from '../../ui/data/long-list/long-list.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter, FiltersOn, TextFilter } from '../../ui/forms/filter.tsx'
import { Page } from '../../ui/page.tsx'
import { activityQuery, requestInList } from './activity-query.ts'

const STATUSES = ['queued', 'running', 'waiting', 'completed', 'failed', 'cancelled']
const DOORS: [door: Invocation['door'], label: string][] = [
  ['api', 'API'],
  ['openai', 'OpenAI'],
  ['mcp', 'MCP'],
  ['a2a', 'A2A'],
  ['ag-ui', 'AG-UI'],
  ['cli', 'CLI on the server'],
  ['schedule', 'schedule'],
  ['console', 'console'],
  ['link', 'link'],
]
/** The URL's parameters and their labels. */
const FILTERS = { agent: 'Agent', status: 'Status', door: 'Channel', user: 'User', session: 'Session' }
const LIVE_MS = 3_000

/** The invocations of all agents, newest first. The list is live. */
export function ActivityPage() {
  const { limit, offset, ...filters } = activityQuery()
  const query = { ...filters, limit, offset }
  const names = useAgentNames()
  const nameOf = (agent_id: string) => names.data?.get(agent_id) ?? agent_id
  const columns: Column<Invocation>[] = [
    {
      title: 'Message',
      isWide: true,
      cell: ({ request_id, message, agent_id }) => (
        <a href={href(requestInList(request_id))}>
          <span class="phone-only soft">{nameOf(agent_id)}: </span>
          {message || '(empty)'}
        </a>
      ),
    },
    { title: 'Agent', width: '8rem', isExtra: true, cell: ({ agent_id }) => nameOf(agent_id) },
    { title: 'Status', width: '8.4rem', cell: ({ status }) => <Status value={status} isLive={status === 'running'} /> },
    { title: 'Channel', width: '6rem', isExtra: true, cell: ({ door }) => <span class="soft">{door}</span> },
    {
      title: 'Version',
      width: '8.2rem',
      isExtra: true,
      cell: ({ version }) => version ?? <span class="soft">draft</span>,
    },
    {
      title: 'User',
      width: '7.5rem',
      isExtra: true,
      cell: ({ context }) => <span class="soft">{contextText(context['user_id'])}</span>,
    },
    {
      title: 'Tokens',
      width: '7rem',
      isNumber: true,
      isExtra: true,
      cell: ({ tokens_used }) => countText(tokens_used),
    },
    {
      title: 'Cost',
      width: '8rem',
      isNumber: true,
      isExtra: true,
      cell: ({ cost_usd }) => <Cost usd={cost_usd} />,
    },
    {
      title: 'Duration',
      width: '7rem',
      isNumber: true,
      isExtra: true,
      cell: ({ duration_ms }) => durationText(duration_ms),
    },
    {
      title: 'When',
      width: '6.5rem',
      isNumber: true,
      sort: 'created_at',
      cell: ({ created_at }) => <Ago time={created_at} />,
    },
  ]
  return (
    <Page title="Activity" api={{ operation: 'listAllInvocations', method: 'invocations.listAll', query }}>
      <div class="filters">
        <ChoiceFilter name="agent" label="Agent" all="All agents" choices={[...(names.data?.values() ?? [])]} />
        <ChoiceFilter name="status" label="Status" all="All statuses" choices={STATUSES} />
        <ChoiceFilter name="door" label="Channel" all="All channels" choices={DOORS} />
        <TextFilter name="user" label="User ID" />
        <TextFilter name="session" label="Session ID" />
      </div>
      <FiltersOn of={FILTERS} />
      <LongList
        name={`activity ${JSON.stringify(filters)}`}
        load={(page, signal) => service.invocations.listAll({ ...filters, ...page }, { signal })}
        everyMs={LIVE_MS}
        error={names.error}
        label="Invocations"
        columns={columns}
        keyOf={({ request_id }) => request_id}
        sort={filters.sort}
        empty={
          <Empty title="No activity yet" filters={Object.keys(FILTERS)}>
            <p>Send a message to an agent in its playground.</p>
          </Empty>
        }
      />
    </Page>
  )
}

function contextText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
