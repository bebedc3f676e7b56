import type { Agent, Trigger } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { agentPath } from '../../lib/paths.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { senderLabel } from './schemes.ts'
import { TriggerForm } from './trigger-form.tsx'

const LIMIT = 25

export function TriggersPage({ params: { agent = '' } }: { params: Params }) {
  const query = pageQuery(LIMIT, '-created_at')
  return (
    <AgentFrame
      name={agent}
      tab="triggers"
      api={{ operation: 'listTriggers', method: 'triggers.list', params: { agent_id: agent }, query }}
    >
      {(loaded) => <Triggers agent={loaded} query={query} />}
    </AgentFrame>
  )
}

function Triggers({ agent, query }: { agent: Agent; query: ReturnType<typeof pageQuery<'-created_at'>> }) {
  const triggers = useResource(
    `triggers ${agent.id} ${JSON.stringify(query)}`,
    (signal) => service.triggers.list(agent.id, query, { signal }),
    { everyMs: 5_000 },
  )
  return (
    <>
      {may('createTrigger') && (
        <div class="filters">
          <Button icon="plus" onClick={() => openDialog('trigger')}>
            New trigger
          </Button>
        </div>
      )}
      <List
        of={triggers}
        label="Triggers"
        columns={columnsOf(agent)}
        sort={query.sort}
        empty={
          <Empty title="No triggers yet">
            <p>
              A trigger is a URL to which another service, such as GitHub or Stripe, sends its events. Each verified
              event starts one run. In Slack and Telegram, the agent answers in the conversation.
            </p>
          </Empty>
        }
      />
      {openedDialog() === 'trigger' && may('createTrigger') && (
        <TriggerForm agent={agent} onClose={closeDialog} onSaved={() => triggers.reload()} />
      )}
    </>
  )
}

function columnsOf(agent: Agent): Column<Trigger>[] {
  return [
    {
      title: 'Trigger',
      sort: 'name',
      isWide: true,
      cell: ({ id, name }) => <a href={href(agentPath(agent.name, `triggers/${id}`))}>{name ?? id}</a>,
    },
    { title: 'Sender', isExtra: true, cell: senderLabel },
    { title: 'State', cell: (trigger) => <TriggerState {...trigger} /> },
    {
      title: 'Last delivery',
      isNumber: true,
      cell: ({ last_delivery_at }) => (last_delivery_at ? <Ago time={last_delivery_at} /> : '–'),
    },
  ]
}

export function TriggerState({ enabled, disabled_reason }: Pick<Trigger, 'enabled' | 'disabled_reason'>) {
  return (
    <>
      <Status value={enabled ? 'enabled' : 'disabled'} />
      {disabled_reason && disabled_reason !== 'requested' && (
        <span class="soft"> {disabled_reason.replaceAll('_', ' ')}</span>
      )}
    </>
  )
}
