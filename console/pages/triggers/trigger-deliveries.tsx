import type { Agent, IncomingDelivery, Trigger } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { param } from '../../lib/location.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { requestPath } from '../../lib/paths.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter } from '../../ui/forms/filter.tsx'

const LIMIT = 25

/** What a trigger received, and what became of it. */
export function TriggerDeliveries({ agent, trigger }: { agent: Agent; trigger: Trigger }) {
  const query = {
    ...pageQuery(LIMIT, '-created_at'),
    outcome: param('outcome') as IncomingDelivery['outcome'] | undefined,
  }
  const deliveries = useResource(
    `deliveries of ${trigger.id} ${JSON.stringify(query)}`,
    (signal) => service.triggers.deliveries(agent.id, trigger.id, query, { signal }),
    { everyMs: 5_000 },
  )
  const replay = useAction(async (id: string) => {
    await service.triggers.replay(agent.id, trigger.id, id)
    toast('Delivery replayed')
    deliveries.reload()
  })
  return (
    <section aria-label="Deliveries">
      <div class="section-head">
        <h2>Deliveries</h2>
        <ChoiceFilter
          name="outcome"
          label="Outcome"
          all="All outcomes"
          choices={['accepted', 'filtered', 'failed', 'refused']}
        />
      </div>
      <List
        of={deliveries}
        error={replay.error}
        label="Deliveries"
        columns={columnsWith((id) => void replay.run(id), replay.isBusy)}
        sort={query.sort}
        empty={
          <Empty title="No deliveries yet" filters={['outcome']}>
            <p>The next event that is sent to the URL appears here.</p>
          </Empty>
        }
      />
    </section>
  )
}

function columnsWith(replay: (id: string) => void, isBusy: boolean): Column<IncomingDelivery>[] {
  return [
    { title: 'Outcome', cell: ({ outcome }) => <Status value={outcome} /> },
    {
      title: 'Run',
      isWide: true,
      cell: ({ request_id, reason }) =>
        request_id ? <a href={href(requestPath(request_id))}>{request_id}</a> : (reason ?? '–'),
    },
    { title: 'User', isExtra: true, cell: ({ user_id }) => user_id ?? '–' },
    { title: 'Answer', isExtra: true, cell: ({ answer }) => (answer ? <Status value={answer.status} /> : '–') },
    { title: 'Repeated', isNumber: true, isExtra: true, cell: ({ repeats }) => repeats },
    { title: 'Received', sort: 'created_at', isNumber: true, cell: ({ created_at }) => <Ago time={created_at} /> },
    {
      title: 'Replay',
      cell: ({ id, has_payload }) =>
        has_payload &&
        may('replayTriggerDelivery') && (
          <Button icon="retry" isBusy={isBusy} onClick={() => replay(id)}>
            Replay
          </Button>
        ),
    },
  ]
}
