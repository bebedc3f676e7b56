import { useState } from 'preact/hooks'
import type { Webhook, WebhookWithSecret } from '../../../sdk/client.ts'
import { href } from '../../lib/base.ts'
import { go, param } from '../../lib/location.ts'
import { closeDialog, openDialog, openedDialog } from '../../lib/open-dialog.ts'
import { pageQuery } from '../../lib/page-query.ts'
import { useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { Button } from '../../ui/button.tsx'
import { Snippet } from '../../ui/copy.tsx'
import { List } from '../../ui/data/list.tsx'
import type { Column } from '../../ui/data/table.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { SecretOnce } from '../../ui/dialogs/secret-once.tsx'
import { Empty } from '../../ui/empty.tsx'
import { ChoiceFilter } from '../../ui/forms/filter.tsx'
import { Page } from '../../ui/page.tsx'
import { EVENT_TYPES } from './event-types.ts'
import { CreateWebhookDialog } from './webhook-dialog.tsx'
import { WebhookHealth } from './webhook-health.tsx'

const LIMIT = 25

const COLUMNS: Column<Webhook>[] = [
  {
    title: 'Endpoint',
    sort: 'url',
    cell: ({ id, url }) => (
      <a class="breaks" href={href(`/webhooks/${id}`)}>
        {url}
      </a>
    ),
  },
  { title: 'Health', sort: 'status', cell: (webhook) => <WebhookHealth {...webhook} /> },
  { title: 'Events', isExtra: true, cell: ({ events }) => (events.includes('*') ? 'all events' : events.join(', ')) },
  {
    title: 'Changed',
    sort: 'updated_at',
    isNumber: true,
    isExtra: true,
    cell: ({ updated_at }) => <Ago time={updated_at} />,
  },
]

export function WebhooksPage() {
  const [created, setCreated] = useState<WebhookWithSecret>()
  const query = {
    ...pageQuery(LIMIT, '-created_at'),
    status: param('status') as Webhook['status'] | undefined,
    event: param('event') as 'ping' | undefined,
  }
  const webhooks = useResource(
    `webhooks ${JSON.stringify(query)}`,
    (signal) => service.webhooks.list(query, { signal }),
    { everyMs: 10_000 },
  )
  const create = may('createWebhook') && (
    <Button look="main" icon="plus" onClick={() => openDialog('webhook')}>
      New webhook
    </Button>
  )
  return (
    <Page title="Webhooks" actions={create} api={{ operation: 'listWebhooks', method: 'webhooks.list', query }}>
      <div class="filters">
        <ChoiceFilter name="status" label="Status" all="All statuses" choices={['enabled', 'disabled']} />
        <ChoiceFilter
          name="event"
          label="Event"
          all="All events"
          choices={EVENT_TYPES.map(({ value }) => value).filter((value) => value !== '*')}
        />
      </div>
      <List of={webhooks} label="Webhooks" columns={COLUMNS} sort={query.sort} empty={<NoWebhooks />} />
      {openedDialog() === 'webhook' && may('createWebhook') && (
        <CreateWebhookDialog
          onClose={closeDialog}
          onCreated={(webhook) => {
            closeDialog()
            setCreated(webhook)
          }}
        />
      )}
      {created && (
        <SecretOnce
          title="Signing secret"
          secret={created.secret}
          variable="WEBHOOK_SECRET"
          onDone={() => go(`/webhooks/${created.id}`)}
        />
      )}
    </Page>
  )
}

function NoWebhooks() {
  return (
    <Empty title="No webhooks yet" filters={['status', 'event']}>
      <p>
        A webhook notifies another program, for example when a run ends or a version is deployed. Every delivery is
        signed, and retried for days. To see events without a public URL:
      </p>
      <Snippet label="command" text="moorage webhooks listen" />
    </Empty>
  )
}
