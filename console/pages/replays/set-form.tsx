import { useState } from 'preact/hooks'
import type { Agent } from '../../../sdk/client.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { counted } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Checks } from '../../ui/forms/checks.tsx'
import { Field } from '../../ui/forms/field.tsx'

type Props = { agent: Agent; onClose(): void; onSaved(): void }

const LATEST = 50
const MOST_TEXT = 80

/** Makes a set of invocations that the reader selects. */
export function SetForm({ agent, onClose, onSaved }: Props) {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [chosen, setChosen] = useState<string[]>([])
  const latest = useResource(`latest invocations ${agent.id}`, (signal) =>
    service.invocations.list(agent.id, { limit: LATEST }, { signal }),
  )
  const ended = (latest.data?.data ?? []).filter(({ status }) => status === 'completed' || status === 'failed')
  const save = useAction(async () => {
    const from = { request_ids: chosen }
    const { case_count } = await service.sets.put(agent.id, name.trim(), { description: description || null, from })
    toast(`Set saved with ${counted(case_count, 'case')}`)
    onSaved()
    onClose()
  })
  return (
    <FormDialog title="New set" onClose={onClose} isWide action="Save set" doing={save} disabled={chosen.length === 0}>
      <div class="columns">
        <Field
          label="Name"
          value={name}
          onInput={setName}
          error={reasonOf(save.error, 'name')}
          pattern="[a-z0-9][a-z0-9._\-]{0,62}"
          hint="Lowercase letters, digits, ., _ and -. A set with the same name is replaced."
          isRequired
          hasFocus
        />
        <Field label="Description" value={description} onInput={setDescription} />
      </div>
      <Failure error={latest.error} retry={latest.reload} />
      <Checks
        legend="Invocations"
        choices={ended.map(({ request_id, message, feedback = [] }) => ({
          value: request_id,
          about: `${feedback.some(({ score }) => score < 0) ? '👎 ' : ''}${message.slice(0, MOST_TEXT)}`,
        }))}
        chosen={chosen}
        onChange={setChosen}
        error={reasonOf(save.error, 'from')}
      />
    </FormDialog>
  )
}
