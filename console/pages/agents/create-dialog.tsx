import { useState } from 'preact/hooks'
import { useModelNames } from '../../lib/agents/model-names.ts'
import { href } from '../../lib/base.ts'
import { go } from '../../lib/location.ts'
import { agentPath } from '../../lib/paths.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { TEMPLATES } from './templates.ts'

export function CreateDialog({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('')
  const [template, setTemplate] = useState(TEMPLATES[0])
  const [typed, setTyped] = useState<string>()
  const models = useModelNames(true)
  const ofProvider = models.find((known) => !known.startsWith('builtin/'))
  const model = template?.id === 'model' ? (typed ?? ofProvider ?? '') : String(template?.definition.model)
  const hint =
    ofProvider || !may('setProvider') ? undefined : (
      <>
        No model providers yet. <a href={href('/connections?open=new')}>Add a provider</a> first, or choose an agent
        that requires no model.
      </>
    )
  const action = useAction(async () => {
    const agent = await service.agents.create({ ...template?.definition, name: name.trim(), model })
    toast('Agent created')
    // Back leads to the list, not to the dialog.
    go(agentPath(agent.name), { replace: true })
  })
  return (
    <FormDialog title="New agent" onClose={onClose} action="Create agent" doing={action}>
      <Field
        label="Name"
        value={name}
        onInput={setName}
        placeholder="support"
        pattern="[a-z0-9][a-z0-9\-]{0,62}"
        hint="Lowercase letters, digits and hyphens. The name is part of the agent's URL."
        error={reasonOf(action.error, 'name')}
        isRequired
        hasFocus
      />
      <fieldset class="cards">
        <legend>Start from</legend>
        {TEMPLATES.map((choice) => (
          <label key={choice.id}>
            <input type="radio" name="template" checked={choice === template} onChange={() => setTemplate(choice)} />
            <b>{choice.title}</b>
            <span>{choice.about}</span>
          </label>
        ))}
      </fieldset>
      {template?.id === 'model' && (
        <Field
          label="Model"
          suggestions={models}
          placeholder="provider/model"
          hint={hint}
          value={model}
          onInput={setTyped}
          error={reasonOf(action.error, 'model')}
          isRequired
          isMono
        />
      )}
    </FormDialog>
  )
}
