import { useState } from 'preact/hooks'
import type { Agent, Schedule } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { requestPath } from '../../lib/paths.ts'
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
import { ScheduleDialog } from './schedule-dialog.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { whenText } from './when-text.ts'

const LIMIT = 25

export function SchedulesPage({ params: { agent = '' } }: { params: Params }) {
  const query = pageQuery(LIMIT, 'next_at')
  return (
    <AgentFrame
      name={agent}
      tab="schedules"
      api={{ operation: 'listSchedules', method: 'schedules.list', params: { agent_id: agent }, query }}
    >
      {(loaded) => <Schedules agent={loaded} query={query} />}
    </AgentFrame>
  )
}

function Schedules({ agent, query }: { agent: Agent; query: ReturnType<typeof pageQuery<'next_at'>> }) {
  const [opened, setOpened] = useState<string>()
  const schedules = useResource(
    `schedules ${agent.id} ${JSON.stringify(query)}`,
    (signal) => service.schedules.list(agent.id, query, { signal }),
    { everyMs: 5_000 },
  )
  return (
    <>
      {may('createSchedule') && (
        <div class="filters">
          <Button icon="plus" onClick={() => openDialog('schedule')}>
            New schedule
          </Button>
        </div>
      )}
      <List
        of={schedules}
        label="Schedules"
        columns={columnsWith(setOpened)}
        sort={query.sort}
        empty={
          <Empty title="No schedules yet">
            <p>
              A schedule sends a message to the agent in the background: every morning, every hour, or once. Each
              scheduled run starts only once, even with several nodes or after a restart.
            </p>
          </Empty>
        }
      />
      {openedDialog() === 'schedule' && may('createSchedule') && (
        <ScheduleForm agent={agent} onClose={closeDialog} onSaved={() => schedules.reload()} />
      )}
      {opened && (
        <ScheduleDialog agent={agent} id={opened} onClose={() => setOpened(undefined)} onChanged={schedules.reload} />
      )}
    </>
  )
}

function columnsWith(open: (id: string) => void): Column<Schedule>[] {
  return [
    {
      title: 'Schedule',
      sort: 'name',
      isWide: true,
      cell: ({ id, name, message }) => (
        <button type="button" class="row-link" onClick={() => open(id)}>
          {name ?? message}
        </button>
      ),
    },
    { title: 'When', isExtra: true, cell: whenText },
    { title: 'State', cell: (schedule) => <ScheduleState {...schedule} /> },
    {
      title: 'Last run',
      isNumber: true,
      isExtra: true,
      cell: ({ last_tick_at, last_request_id }) =>
        last_request_id ? (
          <span>
            <a href={href(requestPath(last_request_id))}>
              <Ago time={last_tick_at} />
            </a>
          </span>
        ) : (
          '–'
        ),
    },
    {
      title: 'Next run',
      sort: 'next_at',
      isNumber: true,
      cell: ({ next_at }) => (next_at ? <Ago time={next_at} /> : '–'),
    },
  ]
}

/** Whether the schedule is enabled, and how many ticks started no run. */
function ScheduleState({ enabled, disabled_reason, missed, skipped, next_at }: Schedule) {
  const told = [missed > 0 && `${missed} missed`, skipped > 0 && `${skipped} skipped`].filter(Boolean).join(', ')
  const state = enabled ? (next_at ? 'active' : 'ended') : 'paused'
  return (
    <>
      <Status value={state} />
      {disabled_reason && disabled_reason !== 'requested' && (
        <span class="soft"> {disabled_reason.replaceAll('_', ' ')}</span>
      )}
      {told && <span class="soft"> {told}</span>}
    </>
  )
}
