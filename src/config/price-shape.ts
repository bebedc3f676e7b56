import { z } from 'zod'

const perMillion = (what: string) => z.number().min(0).max(1_000_000).describe(`${what}, in USD per million tokens`)

/** The rates that a price can contain. Missing rates are derived from the others. */
export const GivenRates = {
  input: perMillion('Input'),
  cached_input: perMillion('Cached input').optional(),
  cache_write: perMillion('Input written to the cache').optional(),
  output: perMillion('Output'),
  reasoning: perMillion('Reasoning output').optional(),
  request: z.number().min(0).max(1_000).optional().describe('Per request, in USD'),
}

/** The price of one model. */
const ModelPrice = z.strictObject({
  model: z
    .string()
    .regex(/^[^/\s]+\/\S+$/, 'must be <provider>/<model>, or <provider>/* for all models of a provider')
    .describe('`provider/model`, or `provider/*` for all other models of the provider'),
  ...GivenRates,
})

/** The entries may be anything, because this check runs even if they have issues themselves. */
export const ModelPrices = z.array(ModelPrice).superRefine(
  (list, { addIssue }) => {
    const models = list.map((price) => price?.model)
    models.forEach((model, index) => {
      const first = models.indexOf(model)
      if (model === undefined || first === index) return
      addIssue({ code: 'custom', path: [index, 'model'], message: `already has a price in prices[${first}]` })
    })
  },
  { when: ({ value }) => Array.isArray(value) },
)

/** How budgets count the cost of models. */
export const Budgets = z.strictObject({
  outputTokens: z
    .int()
    .min(16)
    .max(1_000_000)
    .default(4_096)
    .describe('Longest answer, in tokens, if a budget in dollars or tokens applies and the agent sets no limit'),
  countReportedUsage: z
    .boolean()
    .default(false)
    .describe(
      "Whether usage reported by remote agents and by projects' own providers also counts toward the service's budgets",
    ),
})
