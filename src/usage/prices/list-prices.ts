import { z } from 'zod'
import { listNamedModels } from '../../agents/named-models.ts'
import { operation } from '../../operation.ts'
import { EMBEDDER } from '../../runtime/embedders/embedder.ts'
import { namesOf } from '../../runtime/models/model.ts'
import { listQuery } from '../../shapes.ts'
import { listModelsSince } from '../store.ts'
import { PriceReply, presentPrice } from './price-reply.ts'

/** A model that no agent names any more is shown for this long after its last use. */
const SHOWN_MS = 31 * 24 * 3_600_000

export const listPrices = operation({
  id: 'listPrices',
  method: 'GET',
  path: '/v1/prices',
  summary: 'List model prices',
  description:
    "Lists models by name: those that the project's agents use or have used in the last 31 days, the embedder, and those with a price from `moorage.yaml` or the API. `source` shows where a price comes from. If a model has no price, the price is null, never 0.",
  access: { permission: 'read' },
  input: { query: listQuery(['model'], {}).extend({ sort: z.enum(['model', '-model']).default('model') }) },
  answer: { list: PriceReply },

  async run({ query: { limit, offset, sort } }, { db, config, prices, now, shownAgents }) {
    const shown = await shownAgents()
    const { embedder } = config.memory
    const models = new Set([
      ...(await listNamedModels(db, shown)).flatMap(namesOf),
      ...(await listModelsSince(db, shown, now() - SHOWN_MS)),
      ...(await prices.named(shown.project_id)),
      ...(embedder && 'model' in embedder ? [`${EMBEDDER}${embedder.model}`] : []),
    ])
    const all = [...models].toSorted()
    if (sort === '-model') all.reverse()
    const page = all.slice(offset, offset + limit)
    await prices.prepare(shown.project_id, page)
    const find = async (model: string) => presentPrice(model, await prices.find(shown.project_id, model, now()))
    return { items: await Promise.all(page.map(find)), total: all.length }
  },
})
