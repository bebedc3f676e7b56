import { useState } from 'preact/hooks'
import type { Provider, ProviderTest, SetProvider } from '../../../sdk/client.ts'
import { useChanges } from '../../lib/forms/use-changes.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { counted } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { FormDialog } from '../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../ui/failure.tsx'
import { Field } from '../../ui/forms/field.tsx'
import { alreadyThere } from './already-there.ts'
import { ModelTest } from './model-test.tsx'

const KINDS: { type: Provider['type']; title: string; about: string; name: string }[] = [
  { type: 'openai', title: 'OpenAI', about: 'With your OpenAI API key', name: 'openai' },
  { type: 'anthropic', title: 'Anthropic', about: 'With your Anthropic API key', name: 'anthropic' },
  { type: 'openai-compatible', title: 'Compatible', about: 'Ollama, vLLM, gateways: your own URL', name: '' },
]

type Props = { provider: Provider | undefined; onClose(): void; onSaved(): void }

/** Sets a provider, and then requests its list of models. */
export function ProviderDialog({ provider, onClose, onSaved }: Props) {
  const [name, setName] = useState(provider?.name ?? '')
  const [values, setValues] = useState(() => valuesOf(provider))
  const [key, setKey] = useState('')
  const [isKeyless, setKeyless] = useState(false)
  const [tested, setTested] = useState<ProviderTest | undefined>(undefined)
  // Once a new provider is saved, the next save changes it.
  const [saved, setSaved] = useState(provider?.name)
  const mergeWith = useMerge(valuesOf(provider))
  const save = useAction(async () => {
    setTested(undefined)
    if (saved !== name.trim()) await requireFree(name.trim())
    const body = bodyOf(provider ? await mergeWith(values, provider.name) : values)
    // Without `api_key`, the service keeps the current key.
    const api_key = isKeyless ? null : key.trim() || undefined
    await service.providers.set(name.trim(), api_key === undefined ? body : { ...body, api_key })
    setSaved(name.trim())
    onSaved()
    if (!may('testProvider')) {
      toast(`${name.trim()} saved`)
      return onClose()
    }
    const test = await service.providers.test(name.trim())
    if (!test.ok || test.key === 'untested') return setTested(test)
    const models = `${counted(test.models, 'model')} listed`
    toast(`${name.trim()} saved: ${models}${test.key === 'accepted' ? ', API key accepted' : ''}`)
    onClose()
  })
  const isVendor = values.type !== 'openai-compatible'
  const keyReason = reasonOf(save.error, 'api_key')
  return (
    <FormDialog
      title={provider ? `Change ${provider.name}` : 'New provider'}
      action="Save and test"
      doing={save}
      cancel={tested ? 'Close' : 'Cancel'}
      onClose={onClose}
    >
      <fieldset class="cards">
        <legend>Protocol</legend>
        {KINDS.map(({ type, ...kind }) => (
          <label key={type}>
            <input
              type="radio"
              name="type"
              checked={type === values.type}
              onChange={() => {
                setValues({ ...values, type })
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
          hint="Lowercase letters, digits and hyphens. Agents refer to its models as name/model."
          isRequired
          isMono
        />
      )}
      <Field
        label="Base URL"
        type="url"
        value={values.base_url}
        onInput={(base_url) => setValues({ ...values, base_url })}
        error={reasonOf(save.error, 'base_url')}
        placeholder={isVendor ? '' : 'https://llm.example.com/v1'}
        hint={isVendor ? "Leave empty for the vendor's own URL" : 'The URL up to and including /v1'}
        isRequired={!isVendor}
        isMono
      />
      {!isKeyless && (
        <Field
          label="API key"
          type="password"
          autoComplete="off"
          value={key}
          onInput={setKey}
          error={keyReason && key === '' ? KEY_AGAIN : keyReason}
          placeholder={provider?.has_key ? 'stored' : ''}
          hint={
            provider?.has_key
              ? 'A key is stored. Leave empty to keep it.'
              : 'Stored encrypted and never shown again. Leave empty if the provider needs no key.'
          }
          isRequired={isVendor && !provider?.has_key}
        />
      )}
      {provider?.has_key && (
        <label class="check">
          <input type="checkbox" checked={isKeyless} onChange={() => setKeyless(!isKeyless)} />
          This provider needs no key. Delete the stored one.
        </label>
      )}
      {values.type === 'anthropic' && (
        <label class="check">
          <input
            type="checkbox"
            checked={values.cache}
            onChange={() => setValues({ ...values, cache: !values.cache })}
          />
          Cache the start of prompts. Clear this only if the endpoint refuses <code>cache_control</code>.
        </label>
      )}
      {tested && !tested.ok && (
        <p class="notice" role="alert">
          <b>Saved, but the test failed.</b> {tested.error}
        </p>
      )}
      {tested?.ok && (
        <p class="notice" role="status">
          <b>Saved, but the key could not be tested.</b> The provider's list of models is public:{' '}
          {counted(tested.models, 'model')}. To test the key, send a message to a model below.
        </p>
      )}
      {tested?.ok && <ModelTest name={name.trim()} />}
    </FormDialog>
  )
}

const KEY_AGAIN =
  'The URL leads to another server, so the stored key is not sent there. Enter the key again, or select below that the provider needs none.'

function valuesOf(provider: Provider | undefined) {
  const { type = 'openai-compatible', base_url, vision = null, cache = true } = provider ?? {}
  const values: Pick<Provider, 'type' | 'vision' | 'cache'> & { base_url: string } = {
    type,
    base_url: base_url ?? '',
    vision,
    cache,
  }
  return values
}

type Values = ReturnType<typeof valuesOf>

function bodyOf({ type, base_url, vision, cache }: Values): SetProvider {
  return { type, base_url: base_url.trim() || null, vision, cache }
}

async function requireFree(name: string): Promise<void> {
  if (!may('listProviders')) return
  for await (const provider of service.providers.list({ limit: 100 })) {
    if (provider.name === name) throw alreadyThere('provider', name)
  }
}

/** A provider is set as a whole, so the reader's changes are applied to its current values. */
function useMerge(opened: Values): (wanted: Values, name: string) => Promise<Values> {
  const saveChanges = useChanges(opened)
  return async (wanted, name) => {
    let merged = wanted
    for await (const provider of service.providers.list({ limit: 100 })) {
      if (provider.name !== name) continue
      const now = valuesOf(provider)
      merged = now
      await saveChanges(wanted, now, async (changes) => {
        merged = { ...now, ...changes }
      })
    }
    return merged
  }
}
