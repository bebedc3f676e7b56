import { z } from 'zod'
import { requireService, requireWholeProject } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { PriceParams, pricedModel } from './price-reply.ts'
import { remove } from './price-store.ts'

export const deletePrice = operation({
  id: 'deletePrice',
  method: 'DELETE',
  path: '/v1/prices/{provider}/{model}',
  summary: 'Delete a model price',
  description:
    'Deletes a price that was set through the API. The model then has the price from the built-in list of vendors, or no price. Prices in `moorage.yaml` stay. If the operator pays for the model, this requires a key with access to all projects.',
  access: { permission: 'manage' },
  audit: { target: ['provider', 'model'] },
  input: { params: PriceParams },
  answer: { data: z.object({ model: z.string(), deleted: z.literal(true) }) },

  async run({ params }, { db, actor, prices }) {
    requireWholeProject(actor, 'prices')
    const model = pricedModel(params)
    const { project_id } = actor.scope
    if (await prices.isPaidByService(project_id, model)) requireService(actor)
    await remove(db, project_id, model)
    return { model, deleted: true as const }
  },
})
