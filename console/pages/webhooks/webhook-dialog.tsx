import { useState } from 'preact/hooks'
import type { CreateWebhook, Webhook, WebhookWithSecret } from '../../../sdk/client.ts'
import { useChanges } from '../../lib/forms/use-changes.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../ui/failure.tsx'
import { Checks } from '../../ui/forms/checks.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { EVENT_TYPES } from './event-types.ts'

type Values = Pick<CreateWebhook, 'url' | 'events'> & Record<'description' | 'agent_id', string | null>

type Props = {
  title: string
  action: string
  /** The webhook to change. Its agent stays the same. */
  webhook?: Webhook
  onClose(): void
  work(values: Values): Promise<void>
}

export function CreateWebhookDialog({
  onClose,
  onCreated,
}: {
  onClose(): void
  onCreated(webhook: WebhookWithSecret): void
}) {
  const work = async (values: Values) => onCreated(await service.webhooks.create(values))
  return <WebhookDialog title="New webhook" action="Create webhook" onClose={onClose} work={work} />
}

function changeable({ url, events, description }: Webhook) {
  return { url, events: events as CreateWebhook['events'], description }
}

export function EditWebhookDialog({
  webhook,
  onClose,
  onChanged,
}: {
  webhook: Webhook
  onClose(): void
  onChanged(webhook: Webhook): void
}) {
  const saveChanges = useChanges(changeable(webhook))
  const work = async ({ url, events, description }: Values) => {
    let saved = await service.webhooks.get(webhook.id)
    await saveChanges({ url, events, description }, changeable(saved), async (changes) => {
      saved = await service.webhooks.update(webhook.id, changes)
    })
    onChanged(saved)
  }
  return <WebhookDialog title="Edit webhook" action="Save" webhook={webhook} onClose={onClose} work={work} />
}

function WebhookDialog({ title, action, webhook, onClose, work }: Props) {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [agent, setAgent] = useState('')
  const [description, setDescription] = useState(webhook?.description ?? '')
  const [events, setEvents] = useState<CreateWebhook['events']>(
    (webhook?.events as CreateWebhook['events'] | undefined) ?? ['agent.completed', 'agent.failed'],
  )
  const saving = useAction(() =>
    work({ url: url.trim(), events, agent_id: agent.trim() || null, description: description.trim() || null }),
  )
  return (
    <FormDialog title={title} onClose={onClose} action={action} doing={saving} disabled={events.length === 0}>
      <Field
        label="Endpoint URL"
        type="url"
        value={url}
        onInput={setUrl}
        placeholder="https://example.com/hooks/moorage"
        error={reasonOf(saving.error, 'url')}
        isRequired
        hasFocus
      />
      <Checks
        legend="Events"
        choices={EVENT_TYPES}
        chosen={events}
        onChange={setEvents}
        error={reasonOf(saving.error, 'events')}
      />
      {!webhook && (
        <Field
          label="Agent"
          value={agent}
          onInput={setAgent}
          hint="Name or ID. Leave empty for the events of all agents, except agents that restrict their callers."
          error={reasonOf(saving.error, 'agent_id')}
        />
      )}
      <Field
        label="Description"
        value={description}
        onInput={setDescription}
        error={reasonOf(saving.error, 'description')}
      />
    </FormDialog>
  )
}
