import { z } from 'zod'
import { listNamedModels } from '../../agents/named-models.ts'
import type { Needs } from '../../operation/context.ts'
import { PRICE_SOURCES, type Price, type Rates } from '../../operation/price.ts'
import { operation } from '../../operation.ts'
import { EMBEDDER } from '../../runtime/embedders/embedder.ts'
import { namesOf } from '../../runtime/models/model-name.ts'
import { listQuery } from '../../shapes.ts'
import { listModelsSince } from '../store.ts'

/** A model that no agent names any more is shown for as long after its last use. */
const SHOWN_MS = 31 * 24 * 3_600_000

const rate = (what: string) => z.number().nullable().describe(`${what}, in USD for a million tokens`)

const ShownRates = {
  input: rate('Input'),
  cached_input: rate('Input that the provider had in its cache'),
  output: rate('Output'),
  reasoning: rate('Output that was thought and not said'),
  request: z.number().nullable().describe('Each request, in USD'),
}

const PriceReply = z
  .object({
    model: z.string().describe('`provider/model`, `provider/*` for all others of it, or `embedder/model`'),
    source: z.enum([...PRICE_SOURCES, 'unknown']).describe('`unknown`: set it with `prices` in `moorage.yaml`'),
    version: z.string().nullable().describe('Of the list that it is from'),
    ...ShownRates,
    tiers: z
      .array(z.object({ above: z.int().describe('More input tokens than this'), ...ShownRates }))
      .describe('What long prompts cost, where that is more'),
  })
  .meta({ id: 'Price' })

export const listPrices = operation({
  id: 'listPrices',
  method: 'GET',
  path: '/v1/prices',
  summary: 'List what models cost',
  description:
    'The models that agents of the project name or have used in the last 31 days, the embedder, and what `prices` in `moorage.yaml` names, by name. A model whose price is unknown costs null, never 0.',
  permission: 'read',
  query: listQuery(['model'], {}).extend({ sort: z.enum(['model', '-model']).default('model') }),
  list: PriceReply,

  async run(
    { query: { limit, offset, sort } },
    { db, config, prices, now, shownAgents }: Needs<'db' | 'config' | 'prices' | 'now' | 'shownAgents'>,
  ) {
    const shown = await shownAgents()
    const { embedder } = config.memory
    const models = new Set([
      ...(await listNamedModels(db, shown)).flatMap(namesOf),
      ...(await listModelsSince(db, shown, now() - SHOWN_MS)),
      ...prices.named,
      ...(embedder && 'model' in embedder ? [`${EMBEDDER}${embedder.model}`] : []),
    ])
    const all = [...models].toSorted()
    if (sort === '-model') all.reverse()
    const page = all.slice(offset, offset + limit)
    await prices.prepare(shown.project_id, page)
    const find = async (model: string) => present(model, await prices.find(shown.project_id, model, now()))
    return { items: await Promise.all(page.map(find)), total: all.length }
  },
})

const UNKNOWN = { input: null, cached_input: null, output: null, reasoning: null, request: null }

function present(model: string, price: Price | undefined): z.input<typeof PriceReply> {
  if (!price) return { model, source: 'unknown', version: null, ...UNKNOWN, tiers: [] }
  const { source, version = null, rates, tiers } = price
  return { model, source, version, ...(rates satisfies Rates), tiers: [...tiers] }
}
