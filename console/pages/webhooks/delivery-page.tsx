import type { DeliveryAttempt } from '../../../sdk/client.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { durationText } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Id, Snippet } from '../../ui/copy.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { Status } from '../../ui/data/status.tsx'
import { type Column, Table } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { answerOf } from './deliveries.tsx'

const COLUMNS: Column<DeliveryAttempt>[] = [
  { title: 'Attempt', isNumber: true, cell: ({ attempt }) => attempt },
  { title: 'Result', cell: ({ error }) => <Status value={error === null ? 'delivered' : 'failed'} /> },
  { title: 'Response', cell: answerOf },
  { title: 'Duration', isNumber: true, cell: ({ duration_ms }) => durationText(duration_ms) },
  { title: 'Time', isNumber: true, cell: ({ at }) => <Ago time={at} /> },
]

export function DeliveryPage({ params: { webhook = '', delivery: id = '' } }: { params: Params }) {
  const delivery = useResource(`delivery ${id}`, (signal) => service.webhooks.delivery(webhook, id, { signal }), {
    everyMs: 3_000,
  })
  const of = useResource(`webhook ${webhook}`, (signal) => service.webhooks.get(webhook, { signal }))
  const redeliver = useAction(async () => {
    await service.webhooks.redeliver(webhook, id)
    toast('Event sent again')
    delivery.reload()
  })
  const found = delivery.data
  return (
    <Page
      title={found?.event ?? 'Delivery'}
      crumbs={[
        { label: 'Webhooks', to: '/webhooks' },
        { label: of.data ? new URL(of.data.url).host : webhook, to: `/webhooks/${webhook}` },
      ]}
      about={found && <Status value={found.status} />}
      api={{ operation: 'getDelivery', method: 'webhooks.delivery', params: { webhook_id: webhook, delivery_id: id } }}
      actions={
        found &&
        may('redeliver') &&
        found.status !== 'pending' && (
          <Button icon="retry" doing={redeliver}>
            Redeliver
          </Button>
        )
      }
    >
      <Failure error={delivery.error ?? redeliver.error} retry={delivery.reload} />
      {found && (
        <>
          <Facts
            of={{
              Created: <Ago time={found.created_at} />,
              Delivered: found.delivered_at ? <Ago time={found.delivered_at} /> : undefined,
              'Next attempt': found.next_attempt_at ? <Ago time={found.next_attempt_at} /> : undefined,
              Event: <Id id={found.event_id} />,
              ID: <Id id={found.id} />,
            }}
          />
          <Table
            label="Attempts"
            columns={COLUMNS}
            rows={found.attempts}
            keyOf={({ attempt }) => String(attempt)}
            empty={<Empty title="Not tried yet" />}
          />
          <div class="section-head">
            <h2>Request body</h2>
          </div>
          <Snippet label="body" text={indented(found.body)} />
        </>
      )}
    </Page>
  )
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
