import { useState } from 'preact/hooks'
import type { Price, SetPrice } from '../../../../sdk/client.ts'
import { numberIn } from '../../../lib/forms/typed-values.ts'
import { useChanges } from '../../../lib/forms/use-changes.ts'
import { useAction } from '../../../lib/resource.ts'
import { service } from '../../../lib/service.ts'
import { may, session } from '../../../lib/session-state.ts'
import { toast } from '../../../lib/toasts.ts'
import { FormDialog } from '../../../ui/dialogs/form-dialog.tsx'
import { reasonOf } from '../../../ui/failure.tsx'
import { Field } from '../../../ui/forms/field.tsx'
import { fieldsOf } from '../../../ui/forms/form.tsx'
import { NumberField } from '../../../ui/forms/number-field.tsx'

/** Whether the reader can set prices. A key for one agent can't, because all agents of a project share them. */
export function maySetPrices(): boolean {
  return may('setPrice') && session.value?.agent_id === null
}

/** The provider, and its own name for the model, which may contain slashes too. */
export function partsOf(model: string): [provider: string, id: string] {
  const [provider = '', ...id] = model.split('/')
  return [provider, id.join('/')]
}

/** Whether the project has set a price for this model, rather than for all models of its provider. */
export function isOwn({ source, set_for, model }: Price): boolean {
  return source === 'api' && set_for === model
}

/** The dialog's values. Rates that are derived from others are left empty. */
function valuesOf(price: Price | undefined) {
  const { input = null, output = null, cached_input = null, cache_write = null } = price ?? {}
  const { reasoning = null, request = null } = price ?? {}
  const text = (rate: number | null, otherwise: number | null) =>
    rate === null || rate === otherwise ? '' : String(rate)
  return {
    input: text(input, null),
    output: text(output, null),
    cached_input: text(cached_input, input),
    cache_write: text(cache_write, input),
    reasoning: text(reasoning, output),
    request: text(request, 0),
  }
}

type Values = ReturnType<typeof valuesOf>

function ratesOf({ input, output, cached_input, cache_write, reasoning, request }: Values) {
  return {
    input: numberIn(input),
    output: numberIn(output),
    cached_input: numberIn(cached_input),
    cache_write: numberIn(cache_write),
    reasoning: numberIn(reasoning),
    request: numberIn(request),
  }
}

/** A price is set as a whole. Empty fields aren't sent. */
async function put(model: string, rates: ReturnType<typeof ratesOf>): Promise<void> {
  const given = Object.entries(rates).filter(([, rate]) => rate !== null)
  await service.prices.set(...partsOf(model), Object.fromEntries(given) as SetPrice)
}

async function priceNow(model: string): Promise<Price | undefined> {
  for await (const price of service.prices.list({ limit: 100 })) if (price.model === model) return price
  return undefined
}

type Props = {
  /** Undefined if the reader names the model. */
  model?: string | undefined
  /** The model's current price. */
  price?: Price | undefined
  onClose(): void
  onSaved(): void
}

/** Sets what a model costs in this project. */
export function PriceDialog({ model: given, price, onClose, onSaved }: Props) {
  const [model, setModel] = useState(given ?? '')
  const [values, setValues] = useState(() => valuesOf(price))
  const saveChanges = useChanges(ratesOf(values))
  const save = useAction(async () => {
    const name = model.trim()
    const wanted = ratesOf(values)
    if (price && isOwn(price)) {
      const now = ratesOf(valuesOf(await priceNow(name)))
      await saveChanges(wanted, now, (changes) => put(name, { ...now, ...changes }))
    } else await put(name, wanted)
    onClose()
    toast(`Price of ${name} saved`)
    onSaved()
  })
  const field = fieldsOf(values, setValues, save.error)
  return (
    <FormDialog
      title={given === undefined ? 'Set price' : `Price of ${given}`}
      onClose={onClose}
      action="Save price"
      doing={save}
    >
      {given === undefined && (
        <Field
          label="Model"
          placeholder="local/llama-3.3-70b"
          hint="provider/model, or provider/* for all other models of the provider."
          pattern="[^\/\s]+\/\S+"
          value={model}
          onInput={setModel}
          error={reasonOf(save.error, 'model')}
          isRequired
          isMono
          hasFocus
        />
      )}
      <div class="columns">
        <NumberField
          label="Input (USD per million tokens)"
          placeholder="0.50"
          isRequired
          hasFocus={given !== undefined}
          {...field('input')}
        />
        <NumberField label="Output (USD per million tokens)" placeholder="1.50" isRequired {...field('output')} />
      </div>
      <div class="columns">
        <NumberField
          label="Cached input (USD per million tokens)"
          hint="Default: the input price."
          {...field('cached_input')}
        />
        <NumberField
          label="Cache write (USD per million tokens)"
          hint="Default: the input price."
          {...field('cache_write')}
        />
      </div>
      <div class="columns">
        <NumberField
          label="Reasoning (USD per million tokens)"
          hint="Default: the output price."
          {...field('reasoning')}
        />
        <NumberField label="Request (USD each)" hint="Default: 0." {...field('request')} />
      </div>
      <p class="hint">
        The price applies to this project's calls from now on. To apply it to past calls, run{' '}
        <code>moorage usage reprice --from 30d</code>.
      </p>
    </FormDialog>
  )
}
