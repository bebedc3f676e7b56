import { parentPort, workerData } from 'node:worker_threads'
import type { ConditionalPrice, ModelPrice } from '@pydantic/genai-prices'

/** A model at the address of a provider. */
export type VendorModel = { url: string; id: string }

/** What the list says about a model: one price, or several with their times. Null: nothing. */
export type ListedPrice = ModelPrice | ConditionalPrice[] | null

/** The list takes 60 ms to load and 20 MB, so it is read in a thread that ends when it has answered. */
async function answer(wanted: readonly VendorModel[]): Promise<ListedPrice[]> {
  const { calcPrice } = await import('@pydantic/genai-prices')
  return wanted.map(({ url, id }) => calcPrice({}, id, { providerApiUrl: url })?.model.prices ?? null)
}

parentPort?.postMessage(await answer(workerData))
