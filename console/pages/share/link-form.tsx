import { useState } from 'preact/hooks'
import type { Agent, Link } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { fieldsOf } from '../../ui/forms/form.tsx'
import { NumberField } from '../../ui/forms/number-field.tsx'

type Props = { agent: Agent; onClose(): void; onCreated(link: Link): void }

/** The service says what is wrong with a text that isn't a number. */
const numberOf = (text: string) => (text.trim() === '' ? null : ((Number(text) || text) as number))
const linesOf = (text: string) => text.split('\n').flatMap((line) => line.trim() || [])

export function LinkForm({ agent, onClose, onCreated }: Props) {
  const [values, setValues] = useState({
    name: '',
    welcome: '',
    starters: '',
    origins: '',
    environment: 'production',
    expires_at: '',
    messages_per_visitor: '50',
    cost_usd: '5',
  })
  const create = useAction(async () => {
    const { name, welcome, environment, expires_at } = values
    const link = await service.links.create(agent.id, {
      name: name.trim() || null,
      welcome: welcome.trim() || null,
      starters: linesOf(values.starters),
      origins: linesOf(values.origins),
      environment: environment.trim(),
      expires_at: expires_at === '' ? null : new Date(expires_at).toISOString(),
      limits: { messages_per_visitor: numberOf(values.messages_per_visitor), cost_usd: numberOf(values.cost_usd) },
    })
    toast('Link created')
    onCreated(link)
  })
  const field = fieldsOf(values, setValues, create.error)
  return (
    <FormDialog title="New link" onClose={onClose} action="Create link" doing={create}>
      <Field label="Title" hint={`Default: ${agent.name}`} hasFocus {...field('name')} />
      <Field label="Welcome" rows={2} hint="The first text on the page." {...field('welcome')} />
      <Field
        label="Suggested messages"
        rows={2}
        hint="One per line. Visitors send them with one click."
        {...field('starters')}
      />
      <div class="columns">
        <NumberField
          label="Messages per visitor"
          hint="Leave empty for no limit."
          {...field('messages_per_visitor', 'limits.messages_per_visitor')}
        />
        <NumberField
          label="Cost (US$)"
          hint="The total for all visitors. Leave empty for no limit."
          {...field('cost_usd', 'limits.cost_usd')}
        />
      </div>
      <Field
        label="Sites that can embed the chat"
        rows={2}
        hint="One origin per line, such as https://www.example.com. Leave empty for none."
        isMono
        {...field('origins')}
      />
      <div class="columns">
        <Field label="Environment" {...field('environment')} />
        <Field
          label="Expires"
          type="datetime-local"
          hint="Leave empty if the link should never expire."
          {...field('expires_at')}
        />
      </div>
    </FormDialog>
  )
}
