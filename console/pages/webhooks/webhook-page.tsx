import { useState } from 'preact/hooks'
import type { Webhook, WebhookTest, WebhookWithSecret } from '../../../sdk/client.ts'
import { go } from '../../lib/location.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { durationText } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import type { Params } from '../../routes.ts'
import { Button } from '../../ui/button.tsx'
import { Id } from '../../ui/copy.tsx'
import { AgentLink } from '../../ui/data/agent-link.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { Ago } from '../../ui/data/time.tsx'
import { WhoIs } from '../../ui/data/who.tsx'
import { Confirm } from '../../ui/dialogs/confirm.tsx'
import { SecretOnce } from '../../ui/dialogs/secret-once.tsx'
import { Failure } from '../../ui/failure.tsx'
import { Page } from '../../ui/page.tsx'
import { Deliveries } from './deliveries.tsx'
import { Verification } from './verification.tsx'
import { EditWebhookDialog } from './webhook-dialog.tsx'
import { WebhookHealth } from './webhook-health.tsx'

/** How long both secrets sign deliveries after a rotation. */
const GRACE_SECONDS = 86_400

type WebhookDialogName = 'edit' | 'rotate' | 'delete' | undefined

export function WebhookPage({ params: { webhook: id = '' } }: { params: Params }) {
  const [asking, setAsking] = useState<WebhookDialogName>()
  const [rotated, setRotated] = useState<WebhookWithSecret>()
  const webhook = useResource(`webhook ${id}`, (signal) => service.webhooks.get(id, { signal }), { everyMs: 10_000 })
  const test = useAction(async () => {
    toast(resultOf(await service.webhooks.test(id)))
    webhook.reload()
  })
  const toggle = useAction(async (status: Webhook['status']) => {
    await service.webhooks.update(id, { status })
    toast(status === 'enabled' ? 'Webhook enabled' : 'Webhook disabled', () =>
      toggle.run(status === 'enabled' ? 'disabled' : 'enabled'),
    )
    webhook.reload()
  })
  const found = webhook.data
  const close = () => setAsking(undefined)
  return (
    <Page
      title={found ? new URL(found.url).host : 'Webhook'}
      crumbs={[{ label: 'Webhooks', to: '/webhooks' }]}
      api={{ operation: 'getWebhook', method: 'webhooks.get', params: { webhook_id: id } }}
      actions={
        found && (
          <>
            {may('testWebhook') && (
              <Button icon="send" doing={test}>
                Send test event
              </Button>
            )}
            {may('updateWebhook') && (
              <Button icon="edit" onClick={() => setAsking('edit')}>
                Edit
              </Button>
            )}
            {may('updateWebhook') && <Toggle webhook={found} isBusy={toggle.isBusy} onToggle={toggle.run} />}
            {may('rotateWebhookSecret') && (
              <Button icon="retry" onClick={() => setAsking('rotate')}>
                Rotate secret
              </Button>
            )}
            {may('deleteWebhook') && (
              <Button look="danger" onClick={() => setAsking('delete')}>
                Delete
              </Button>
            )}
          </>
        )
      }
    >
      <Failure error={webhook.error ?? test.error ?? toggle.error} retry={webhook.error && webhook.reload} />
      {found && <WebhookFacts webhook={found} />}
      <Deliveries webhook_id={id} />
      {found && <Verification secret_hint={found.secret_hint} />}
      {asking === 'edit' && found && (
        <EditWebhookDialog
          webhook={found}
          onClose={close}
          onChanged={(changed) => {
            close()
            toast('Webhook updated')
            webhook.replace(changed)
          }}
        />
      )}
      {asking === 'rotate' && (
        <Confirm
          title="Rotate secret"
          action="Rotate secret"
          onClose={close}
          work={async () =>
            setRotated(await service.webhooks.rotateSecret(id, { grace_period_seconds: GRACE_SECONDS }))
          }
        >
          <p>
            Deliveries are signed with a new secret. For 24 hours they also have a signature with the old secret, so the
            receiver can switch without losing events.
          </p>
        </Confirm>
      )}
      {asking === 'delete' && found && (
        <Confirm
          title="Delete webhook"
          action="Delete webhook"
          isDanger
          onClose={close}
          work={async () => {
            await service.webhooks.delete(id)
            toast('Webhook deleted')
            go('/webhooks')
          }}
        >
          <p>
            No more events are sent to <b>{found.url}</b>. The webhook's deliveries are deleted, including those still
            waiting.
          </p>
        </Confirm>
      )}
      {rotated && (
        <SecretOnce
          title="New secret"
          secret={rotated.secret}
          variable="WEBHOOK_SECRET"
          onDone={() => {
            setRotated(undefined)
            webhook.reload()
          }}
        />
      )}
    </Page>
  )
}

function Toggle({
  webhook,
  isBusy,
  onToggle,
}: {
  webhook: Webhook
  isBusy: boolean
  onToggle(to: Webhook['status']): void
}) {
  return webhook.status === 'enabled' ? (
    <Button icon="pause" isBusy={isBusy} onClick={() => onToggle('disabled')}>
      Disable
    </Button>
  ) : (
    <Button icon="play" isBusy={isBusy} onClick={() => onToggle('enabled')}>
      Enable
    </Button>
  )
}

function WebhookFacts({ webhook }: { webhook: Webhook }) {
  const { id, url, agent_id, events, description, secret_hint, previous_secret_expires_at, created_at } = webhook
  return (
    <Facts
      of={{
        Health: <WebhookHealth {...webhook} />,
        Receiver: <code>{url}</code>,
        Events: events.includes('*') ? 'all events' : events.join(', '),
        Agent: <AgentLink id={agent_id} />,
        Secret: (
          <>
            <code>{secret_hint}</code>
            {previous_secret_expires_at && (
              <span class="soft">
                the old secret stops signing <Ago time={previous_secret_expires_at} />
              </span>
            )}
          </>
        ),
        Description: description ?? undefined,
        Created: (
          <>
            <Ago time={created_at} />{' '}
            {webhook.created_by && (
              <span class="soft">
                by <WhoIs id={webhook.created_by} />
              </span>
            )}
          </>
        ),
        ID: <Id id={id} />,
      }}
    />
  )
}

function resultOf({ delivered, response_status, error, duration_ms }: WebhookTest): string {
  const took = durationText(duration_ms)
  if (delivered) return `Test event delivered (${response_status}, ${took})`
  return `Test event not delivered: ${response_status ?? error} after ${took}`
}
