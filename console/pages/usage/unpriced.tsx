import type { UsageRow } from '../../../sdk/client.ts'
import { counted } from '../../lib/text/format.ts'
import { Snippet } from '../../ui/copy.tsx'

/** Says of which models the price is not known, and how it is set. */
export function Unpriced({ models }: { models: UsageRow[] }) {
  if (models.length === 0) return null
  const snippet = models.map(
    ({ model }) => `  - model: ${model}\n    input: 0.50    # USD for a million tokens\n    output: 1.50\n`,
  )
  return (
    <div class="notice unpriced">
      {models.map(({ model, unpriced_calls }) => (
        <p key={model}>
          The total doesn't include {counted(unpriced_calls, 'call')} to <code>{model}</code>, because the model has no
          price. Set one under <code>prices</code> in <code>moorage.yaml</code>.
        </p>
      ))}
      <details>
        <summary>Show an example</summary>
        <Snippet label="prices" text={`prices:\n${snippet.join('')}`} />
      </details>
    </div>
  )
}
