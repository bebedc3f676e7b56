import { z } from 'zod'
import { PRICE_SOURCES, type Price, type Rates } from '../../operation/project-snapshot.ts'

export const PriceParams = z.strictObject({
  provider: z.string(),
  model: z.string().describe('URL-encoded; `*` for all other models of the provider'),
})

/** The model of a path, as agents name it. */
export function pricedModel({ provider, model }: z.output<typeof PriceParams>): string {
  return `${provider}/${model}`
}

const rate = (what: string) => z.number().nullable().describe(`${what}, in USD per million tokens`)

const ShownRates = {
  input: rate('Input'),
  cached_input: rate("Input tokens read from the provider's cache"),
  cache_write: rate("Input tokens written to the provider's cache"),
  output: rate('Output'),
  reasoning: rate('Reasoning tokens'),
  request: z.number().nullable().describe('Per request, in USD'),
}

export const PriceReply = z
  .object({
    model: z.string().describe("`provider/model`, `provider/*` for the provider's other models, or `embedder/model`"),
    source: z
      .enum([...PRICE_SOURCES, 'unknown'])
      .describe(
        '`configuration`: `prices` in `moorage.yaml`, which overrides the others. `api`: set with `PUT /v1/prices/{provider}/{model}`. `genai-prices`: the built-in list of vendors. `unknown`: no price; set one',
      ),
    set_for: z
      .string()
      .nullable()
      .describe('The name that the price was set for: the model, or `provider/*`. Null if it was not set'),
    version: z.string().nullable().describe('The date of the built-in list, if the price comes from it'),
    ...ShownRates,
    tiers: z
      .array(z.object({ above: z.int().describe('Prompts with more input tokens than this'), ...ShownRates }))
      .describe('The price of long prompts, if it differs'),
  })
  .meta({ id: 'Price' })

const UNKNOWN = { input: null, cached_input: null, cache_write: null, output: null, reasoning: null, request: null }

export function presentPrice(model: string, price: Price | undefined): z.input<typeof PriceReply> {
  if (!price) return { model, source: 'unknown', set_for: null, version: null, ...UNKNOWN, tiers: [] }
  const { source, set_for = null, version = null, rates, tiers } = price
  return { model, source, set_for, version, ...(rates satisfies Rates), tiers: [...tiers] }
}
