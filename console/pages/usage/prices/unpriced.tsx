import { useState } from 'preact/hooks'
import type { UsageRow } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Snippet } from '../../../ui/copy.tsx'
import { isOfService } from '../usage-groups.ts'
import { maySetPrices, PriceDialog } from './price-dialog.tsx'
import { useUnpricedModels } from './unpriced-models.ts'

/**
 * Lists the models whose calls no sum includes, and lets the reader set their prices. Prices belong to a project, so
 * this needs one.
 */
export function Unpriced({ models }: { models: UsageRow[] }) {
  const [chosen, setChosen] = useState<string>()
  const isHere = !isOfService()
  const unpriced = useUnpricedModels(isHere && models.length > 0)
  if (models.length === 0) return null
  const hasPrice = (model: string) => unpriced.data !== undefined && !unpriced.data.includes(model)
  const [priced, without] = [true, false].map((is) => models.filter(({ model = '' }) => hasPrice(model) === is))
  return (
    <div class="notice unpriced">
      {without?.map(({ model = '', unpriced_calls }) => (
        <p key={model}>
          The total doesn't include {counted(unpriced_calls, 'call')} to <code>{model}</code>, because the model has no
          price.{' '}
          {isHere && maySetPrices() && (
            <Button label={`Set price of ${model}`} onClick={() => setChosen(model)}>
              Set price
            </Button>
          )}
        </p>
      ))}
      {priced?.map(({ model, unpriced_calls }) => (
        <p key={model}>
          The total doesn't include {counted(unpriced_calls, 'call')} to <code>{model}</code> from before its price was
          set.
        </p>
      ))}
      {priced && priced.length > 0 && (
        <>
          <p>To apply prices to past calls, run:</p>
          <Snippet label="command" text="moorage usage reprice --from 30d" />
        </>
      )}
      {without && without.length > 0 && <Example models={without} />}
      {chosen !== undefined && (
        <PriceDialog model={chosen} onClose={() => setChosen(undefined)} onSaved={unpriced.reload} />
      )}
    </div>
  )
}

function Example({ models }: { models: UsageRow[] }) {
  const prices = models.map(
    ({ model }) => `  - model: ${model}\n    input: 0.50    # USD per million tokens\n    output: 1.50\n`,
  )
  return (
    <details>
      <summary>Set prices for all projects in moorage.yaml</summary>
      <Snippet label="prices" text={`prices:\n${prices.join('')}`} />
    </details>
  )
}
