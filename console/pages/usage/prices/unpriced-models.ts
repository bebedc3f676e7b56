import { useResource } from '../../../lib/resource.ts'
import { service } from '../../../lib/service.ts'
import { may } from '../../../lib/session-state.ts'

/** Models without a known price that agents name or have used recently. Undefined until it is known. */
export function useUnpricedModels(isAsked: boolean): { data: string[] | undefined; reload(): void } {
  return useResource(isAsked && may('listPrices') ? 'unpriced models' : undefined, async (signal) => {
    const models: string[] = []
    for await (const { model, source } of service.prices.list({ limit: 100 }, { signal })) {
      if (source === 'unknown') models.push(model)
    }
    return models
  })
}
