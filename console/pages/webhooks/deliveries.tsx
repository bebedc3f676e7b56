import type { Delivery } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { param } from '../../lib/location.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { counted } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { List } from '../../ui/data/list.tsx'
import { Status } from '../../ui/data/status.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter } from '../../ui/forms/filter.tsx'
import { EVENT_TYPES } from './event-types.ts'

const LIMIT = 25

const COLUMNS: Column<Delivery>[] = [
  { title: 'Event', cell: ({ id, webhook_id, event }) => <a href={href(`/webhooks/${webhook_id}/${id}`)}>{event}</a> },
  { title: 'Status', cell: ({ status }) => <Status value={status} /> },
  { title: 'Response', cell: ({ attempts }) => answerOf(attempts.at(-1)) },
  { title: 'Attempts', isNumber: true, isExtra: true, cell: ({ attempt_count }) => attempt_count },
  {
    title: 'Next attempt',
    isNumber: true,
    isExtra: true,
    cell: ({ next_attempt_at }) => (next_attempt_at ? <Ago time={next_attempt_at} /> : '–'),
  },
  { title: 'Created', sort: 'created_at', isNumber: true, cell: ({ created_at }) => <Ago time={created_at} /> },
]

export function answerOf(attempt: Delivery['attempts'][number] | undefined): string {
  if (!attempt) return '–'
  return attempt.response_status === null
    ? (attempt.error ?? '–').replaceAll('_', ' ')
    : String(attempt.response_status)
}

/** Deliveries that were sent or will be. All failed ones can be sent again, one page at a time. */
export function Deliveries({ webhook_id }: { webhook_id: string }) {
  const query = {
    ...pageQuery(LIMIT, '-created_at'),
    status: param('status') as Delivery['status'] | undefined,
    event: param('event') as Delivery['event'] | undefined,
  }
  const deliveries = useResource(
    `deliveries ${webhook_id} ${JSON.stringify(query)}`,
    (signal) => service.webhooks.deliveries(webhook_id, query, { signal }),
    { everyMs: 5_000 },
  )
  const failed = deliveries.data?.data.filter(({ status }) => status === 'failed') ?? []
  const recover = useAction(async () => {
    const sent = new Set<string>()
    let refusal: unknown
    for (const { id } of failed) {
      try {
        await service.webhooks.redeliver(webhook_id, id)
        sent.add(id)
      } catch (error) {
        refusal ??= error
      }
    }
    // Deliveries in progress aren't sent again by another click.
    const shown = deliveries.data
    if (shown) {
      const asNow = (one: Delivery): Delivery => (sent.has(one.id) ? { ...one, status: 'pending' } : one)
      deliveries.replace({ ...shown, data: shown.data.map(asNow) })
    }
    if (sent.size > 0) toast(`${counted(sent.size, 'delivery', 'deliveries')} sent again`)
    if (refusal) throw refusal
  })
  return (
    <section aria-label="Deliveries">
      <div class="section-head">
        <h2>Deliveries</h2>
        <ChoiceFilter name="status" label="Status" all="All statuses" choices={['pending', 'delivered', 'failed']} />
        <ChoiceFilter name="event" label="Event" all="All events" choices={EVENT_TYPES.map(({ value }) => value)} />
        {may('redeliver') && failed.length > 0 && (
          <Button icon="retry" doing={recover}>
            Send {counted(failed.length, 'failed delivery', 'failed deliveries')} again
          </Button>
        )}
      </div>
      <List
        of={deliveries}
        error={recover.error}
        label="Deliveries"
        columns={COLUMNS}
        sort={query.sort}
        empty={
          <Empty title="No deliveries yet" filters={['status', 'event']}>
            <p>The next event that this webhook subscribes to appears here. Test events aren't kept.</p>
          </Empty>
        }
      />
    </section>
  )
}
