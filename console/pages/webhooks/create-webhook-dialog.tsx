import { useState } from 'preact/hooks'
import type { CreateWebhook, WebhookWithSecret } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Checks } from '../../ui/forms/checks.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'
import { EVENT_TYPES } from './event-types.ts'

type Props = { onClose(): void; onCreated(webhook: WebhookWithSecret): void }

export function CreateWebhookDialog({ onClose, onCreated }: Props) {
  const [url, setUrl] = useState('')
  const [agent, setAgent] = useState('')
  const [description, setDescription] = useState('')
  const [events, setEvents] = useState<CreateWebhook['events']>(['agent.completed', 'agent.failed'])
  const action = useAction(async () => {
    onCreated(
      await service.webhooks.create({
        url: url.trim(),
        events,
        agent_id: agent.trim() || null,
        description: description.trim() || null,
      }),
    )
  })
  return (
    <Dialog title="New webhook" onClose={onClose}>
      <Form onSubmit={() => action.run()}>
        <Field
          label="Address of the receiver"
          type="url"
          value={url}
          onInput={setUrl}
          placeholder="https://example.com/hooks/moorage"
          error={reasonOf(action.error, 'url')}
          isRequired
          hasFocus
        />
        <Checks
          legend="Events"
          choices={EVENT_TYPES}
          chosen={events}
          onChange={setEvents}
          error={reasonOf(action.error, 'events')}
        />
        <Field
          label="Agent"
          value={agent}
          onInput={setAgent}
          hint="Its name or id. Without one, the events of every agent are sent."
          error={reasonOf(action.error, 'agent_id')}
        />
        <Field label="Description" value={description} onInput={setDescription} />
        <Failure error={action.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" isBusy={action.isBusy} disabled={events.length === 0}>
            Create webhook
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
