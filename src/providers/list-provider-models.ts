import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { askForModels } from './ask-provider.ts'
import { ProviderParams } from './provider.ts'

export const listProviderModels = operation({
  id: 'listProviderModels',
  method: 'GET',
  path: '/v1/providers/{name}/models',
  summary: "List a provider's models",
  description:
    'Asks the provider for its current list, and waits up to 15 seconds. If there is no list, `error` says why.',
  access: { permission: 'write' },
  input: { params: ProviderParams },
  answer: {
    data: z
      .object({
        models: z.array(
          z.object({ id: z.string(), model: z.string().describe('The name that agents use: `provider/id`') }),
        ),
        error: z.string().nullable().describe('Why the provider returned no list'),
      })
      .meta({ id: 'ProviderModels' }),
  },

  async run({ params: { name } }, context: Needs<'actor' | 'runtime'>) {
    const { ids, error } = await askForModels(name, context)
    return { models: ids.map((id) => ({ id, model: `${name}/${id}` })), error }
  },
})
