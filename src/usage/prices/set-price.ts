import { z } from 'zod'
import { GivenRates } from '../../config/price-shape.ts'
import { conflict, invalid } from '../../errors.ts'
import { requireService, requireWholeProject } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { wholeRates } from './price-list.ts'
import { PriceParams, PriceReply, presentPrice, pricedModel } from './price-reply.ts'
import { put } from './price-store.ts'

export const setPrice = operation({
  id: 'setPrice',
  method: 'PUT',
  path: '/v1/prices/{provider}/{model}',
  summary: 'Set a model price',
  description:
    "Sets the project's price of a model, for calls from now on. With `*` as the model, it applies to all other models of the provider. URL-encode the model: a slash in its name is `%2F`. Setting a price again replaces it as a whole. If `moorage.yaml` has a price for the model, the request fails with 409. If the operator pays for the model, because its provider is in `moorage.yaml` or uses the operator's key, this requires a key with access to all projects.",
  access: { permission: 'manage' },
  audit: { target: ['provider', 'model'] },
  input: { params: PriceParams, body: z.strictObject(GivenRates).meta({ id: 'SetPrice' }) },
  answer: { data: PriceReply, errors: ['conflict'] },

  async run({ params, body }, { db, actor, prices, now }) {
    requireWholeProject(actor, 'prices')
    const model = pricedModel(params)
    if (!NAME.test(model)) throw invalid({ field: 'model', error: 'must be at most 500 characters without spaces' })
    const { project_id } = actor.scope
    if (await prices.isPaidByService(project_id, model)) requireService(actor)
    if (prices.isConfigured(model)) {
      throw conflict(`The price of ${model} is defined in moorage.yaml. Change it there.`)
    }
    await put(db, project_id, { model, ...body, set_by: actor.reach }, now())
    return presentPrice(model, { source: 'api', set_for: model, rates: wholeRates(body), tiers: [] })
  },
})

const NAME = /^[^/\s]+\/\S{1,500}$/
