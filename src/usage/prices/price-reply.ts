import { z } from 'zod'
import { forbidden } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import { PRICE_SOURCES, type Price, type Rates } from '../../operation/project-snapshot.ts'

export const PriceParams = z.strictObject({
  provider: z.string(),
  model: z.string().describe('URL-encoded; `*` for all other models of the provider'),
})

/** The model of a path, as agents name it. */
export function pricedModel({ provider, model }: z.output<typeof PriceParams>): string {
  return `${provider}/${model}`
}

const rate = (what: string) => z.number().nullable().describe(`${what}, in USD for a million tokens`)

const ShownRates = {
  input: rate('Input'),
  cached_input: rate('Input that the provider had in its cache'),
  output: rate('Output'),
  reasoning: rate('Output that was thought and not said'),
  request: z.number().nullable().describe('Each request, in USD'),
}

export const PriceReply = z
  .object({
    model: z.string().describe('`provider/model`, `provider/*` for all others of it, or `embedder/model`'),
    source: z
      .enum([...PRICE_SOURCES, 'unknown'])
      .describe(
        '`configuration`: `prices` in `moorage.yaml`, which wins. `api`: `PUT /v1/prices/{provider}/{model}`. `genai-prices`: the list of public vendors. `unknown`: set one',
      ),
    set_for: z
      .string()
      .nullable()
      .describe('The name with which it was set: the model, or `provider/*`. Null if the price was not set'),
    version: z.string().nullable().describe('Of the list that it is from'),
    ...ShownRates,
    tiers: z
      .array(z.object({ above: z.int().describe('More input tokens than this'), ...ShownRates }))
      .describe('What long prompts cost, where that is more'),
  })
  .meta({ id: 'Price' })

const UNKNOWN = { input: null, cached_input: null, output: null, reasoning: null, request: null }

export function presentPrice(model: string, price: Price | undefined): z.input<typeof PriceReply> {
  if (!price) return { model, source: 'unknown', set_for: null, version: null, ...UNKNOWN, tiers: [] }
  const { source, set_for = null, version = null, rates, tiers } = price
  return { model, source, set_for, version, ...(rates satisfies Rates), tiers: [...tiers] }
}

/** All agents of a project share its prices. Only actors that manage the whole project may change them. */
export function requireAllAgents({ scope }: Actor): void {
  if (scope.agent_id !== null) throw forbidden('This key is limited to one agent, and prices are for all')
}
