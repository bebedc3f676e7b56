import { z } from 'zod'
import type { Needs } from '../../operation/context.ts'
import { requireService } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { PriceParams, pricedModel, requireAllAgents } from './price-reply.ts'
import { remove } from './price-store.ts'

export const deletePrice = operation({
  id: 'deletePrice',
  method: 'DELETE',
  path: '/v1/prices/{provider}/{model}',
  summary: 'Delete a price that the project has set',
  description:
    'From now on the model costs what the list of public vendors says, or its price is unknown. Prices in `moorage.yaml` stay. If the operator pays for the model, it takes a key of all projects.',
  permission: 'manage',
  audit: { target: ['provider', 'model'] },
  params: PriceParams,
  data: z.object({ model: z.string(), deleted: z.literal(true) }),

  async run({ params }, { db, actor, prices }: Needs<'db' | 'actor' | 'prices'>) {
    requireAllAgents(actor)
    const model = pricedModel(params)
    const { project_id } = actor.scope
    if (await prices.isPaidByService(project_id, model)) requireService(actor)
    await remove(db, project_id, model)
    return { model, deleted: true as const }
  },
})
