import { useState } from 'preact/hooks'
import type { Provider, ProviderTest } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure, reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { Form } from '../../ui/forms/form.tsx'

const KINDS: { type: Provider['type']; title: string; about: string; name: string }[] = [
  { type: 'openai', title: 'OpenAI', about: 'With a key of the vendor', name: 'openai' },
  { type: 'anthropic', title: 'Anthropic', about: 'With a key of the vendor', name: 'anthropic' },
  { type: 'openai-compatible', title: 'Compatible', about: 'Ollama, vLLM, gateways: an address of yours', name: '' },
]

type Props = { provider: Provider | undefined; onClose(): void; onSaved(): void }

/** Sets a provider, and asks it at once whether it answers. */
export function ProviderDialog({ provider, onClose, onSaved }: Props) {
  const [type, setType] = useState<Provider['type']>(provider?.type ?? 'openai-compatible')
  const [name, setName] = useState(provider?.name ?? '')
  const [address, setAddress] = useState(provider?.base_url ?? '')
  const [key, setKey] = useState('')
  const [tested, setTested] = useState<ProviderTest | undefined>(undefined)
  const save = useAction(async () => {
    setTested(undefined)
    // What is set here replaces the provider as a whole.
    const vision = provider?.vision ?? null
    const api_key = key.trim() || null
    await service.providers.set(name.trim(), { type, base_url: address.trim() || null, api_key, vision })
    onSaved()
    const test = may('testProvider') ? await service.providers.test(name.trim()) : undefined
    if (test && !test.ok) return setTested(test)
    toast(test ? `${name.trim()} is saved: its ${test.models} models were listed` : `${name.trim()} is saved`)
    onClose()
  })
  const isVendor = type !== 'openai-compatible'
  return (
    <Dialog title={provider ? `Change ${provider.name}` : 'New provider'} onClose={onClose}>
      <Form onSubmit={() => save.run()}>
        <fieldset class="cards">
          <legend>It speaks as</legend>
          {KINDS.map((kind) => (
            <label key={kind.type}>
              <input
                type="radio"
                name="type"
                checked={kind.type === type}
                onChange={() => {
                  setType(kind.type)
                  if (!provider && KINDS.some((other) => other.name === name)) setName(kind.name)
                }}
              />
              <b>{kind.title}</b>
              <span>{kind.about}</span>
            </label>
          ))}
        </fieldset>
        {!provider && (
          <Field
            label="Name"
            value={name}
            onInput={setName}
            error={reasonOf(save.error, 'name')}
            pattern="[a-z0-9][a-z0-9\-]{0,62}"
            placeholder="local"
            hint="Small letters, digits and hyphens. Agents name its models as name/model."
            isRequired
            isMono
          />
        )}
        <Field
          label="Address"
          type="url"
          value={address}
          onInput={setAddress}
          error={reasonOf(save.error, 'base_url')}
          placeholder={isVendor ? '' : 'https://llm.example.com/v1'}
          hint={isVendor ? "Empty: the vendor's own" : 'Up to /v1'}
          isRequired={!isVendor}
          isMono
        />
        <Field
          label="API key"
          type="password"
          autoComplete="off"
          value={key}
          onInput={setKey}
          error={reasonOf(save.error, 'api_key')}
          hint={
            provider?.has_key
              ? 'Type it again: it is stored sealed, and cannot be read back. Empty: no key.'
              : 'Stored sealed, and never shown again. Empty: it wants none.'
          }
          isRequired={isVendor}
        />
        <Failure error={save.error} />
        {tested && (
          <p class="notice" role="alert">
            <b>It is saved, but the test failed.</b> {tested.error}
          </p>
        )}
        <DialogActions>
          <Button onClick={onClose}>{tested ? 'Close' : 'Cancel'}</Button>
          <Button look="main" type="submit" isBusy={save.isBusy}>
            Save and test
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
