import { useState } from 'preact/hooks'
import { useModelNames } from '../../lib/agents/model-names.ts'
import { href } from '../../lib/base.ts'
import { go } from '../../lib/location.ts'
import { agentPath } from '../../lib/paths.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'
import { TEMPLATES } from './templates.ts'

export function CreateDialog({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('')
  const [template, setTemplate] = useState(TEMPLATES[0])
  const [model, setModel] = useState(String(TEMPLATES[0]?.definition.model ?? ''))
  const models = useModelNames(true)
  const hasProvider = models.some((known) => !known.startsWith('builtin/'))
  const hint =
    hasProvider || !may('setProvider') ? undefined : (
      <>
        There is no model provider yet: <a href={href('/connections')}>add one</a> first.
      </>
    )
  const action = useAction(async () => {
    const agent = await service.agents.create({ ...template?.definition, name: name.trim(), model })
    toast(`${agent.name} answers now`)
    // Back leads to the list, not to the dialog.
    go(agentPath(agent.name), { replace: true })
  })
  return (
    <Dialog title="New agent" onClose={onClose}>
      <Form onSubmit={() => action.run()}>
        <Field
          label="Name"
          value={name}
          onInput={setName}
          placeholder="support"
          pattern="[a-z0-9][a-z0-9\-]{0,62}"
          hint="Small letters, digits and hyphens. It is part of the agent's address."
          error={reasonOf(action.error, 'name')}
          isRequired
          hasFocus
        />
        <fieldset class="cards">
          <legend>Begin as</legend>
          {TEMPLATES.map((choice) => (
            <label key={choice.id}>
              <input
                type="radio"
                name="template"
                checked={choice === template}
                onChange={() => {
                  setTemplate(choice)
                  setModel(
                    choice.id === 'model'
                      ? (models.find((known) => !known.startsWith('builtin/')) ?? '')
                      : String(choice.definition.model ?? ''),
                  )
                }}
              />
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
            onInput={setModel}
            error={reasonOf(action.error, 'model')}
            isRequired
            isMono
          />
        )}
        <Failure error={action.error} />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" isBusy={action.isBusy}>
            Create agent
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
