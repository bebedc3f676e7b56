import { useState } from 'preact/hooks'
import type { GalleryExample } from '../../../gallery/example.ts'
import { useModelNames } from '../../lib/agents/model-names.ts'
import { href } from '../../lib/base.ts'
import { go } from '../../lib/location.ts'
import { agentPath } from '../../lib/paths.ts'
import { useAction, useResource } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { SecretOnce } from '../../ui/dialogs/secret-once.tsx'
import { reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { installExample, isInstallable } from './install-example.ts'
import { TEMPLATES, type Template } from './templates.ts'

export function CreateDialog({ onClose }: { onClose(): void }) {
  const [name, setName] = useState('')
  const [start, setStart] = useState<Template | GalleryExample | undefined>(TEMPLATES[0])
  const [typed, setTyped] = useState<string>()
  const [address, setAddress] = useState<string>()
  const [secret, setSecret] = useState<string>()
  // Loaded when the dialog opens, because the examples are long texts.
  const gallery = useResource('gallery', () => import('../../../gallery/gallery.ts')).data?.GALLERY ?? []
  const example = gallery.find((one) => one === start)
  const template = TEMPLATES.find((one) => one === start)
  const server = example?.server
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
  // Going back leads to the list instead of the dialog.
  const open = () => go(agentPath(name.trim()), { replace: true })
  const action = useAction(async () => {
    const shown = example && (await installExample(example, name.trim(), address?.replace(/\/$/, '')))
    if (!example) await service.agents.create({ ...template?.definition, name: name.trim(), model })
    toast('Agent created')
    if (shown) return setSecret(shown)
    open()
  })
  const choices = (legend: string, all: readonly (Template | GalleryExample)[]) => (
    <fieldset class="cards">
      <legend>{legend}</legend>
      {all.map((choice) => (
        <label key={choice.id}>
          <input type="radio" name="template" checked={choice === start} onChange={() => setStart(choice)} />
          <b>{choice.title}</b>
          <span>{choice.about}</span>
        </label>
      ))}
    </fieldset>
  )
  if (secret) {
    return (
      <SecretOnce
        title="Signing secret"
        secret={secret}
        variable="AGENT_SECRET"
        about={`This secret signs the calls to ${server?.file}, and is shown only now. Start the server with it.`}
        onDone={open}
      />
    )
  }
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
      {choices('Start from', TEMPLATES)}
      {choices('Or from an example (no model needed)', gallery.filter(isInstallable))}
      {example && server && (
        <Field
          label="Server URL"
          value={address ?? server.url}
          onInput={setAddress}
          type="url"
          hint={
            <>
              The service must be allowed to call this URL. To get the sample server <code>{server.file}</code>, run{' '}
              <code>moorage init --from {example.id}</code>.
            </>
          }
          error={reasonOf(action.error, 'url')}
          isRequired
          isMono
        />
      )}
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
