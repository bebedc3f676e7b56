import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { Label } from '../shapes.ts'
import { askForModels, askModel, type ProbeNeeds } from './ask-provider.ts'
import { ProviderParams, requireWholeProject } from './provider.ts'

export const testProvider = operation({
  id: 'testProvider',
  method: 'POST',
  path: '/v1/providers/{name}/test',
  summary: 'Test a model provider',
  description:
    'Asks the provider for its list of models, which costs nothing, and says how it went. A provider with a key is asked for the list without it, too: a public list does not prove the key. With `model` it also has that model answer one short message.',
  permission: 'manage',
  audit: { target: 'name' },
  idempotent: true,
  // No transaction, because it waits for the provider.
  transaction: false,
  params: ProviderParams,
  body: z
    .strictObject({
      model: Label(200).optional().describe('A model of the provider, without the name of the provider'),
    })
    .meta({ id: 'TestProvider' }),
  bodyOptional: true,
  data: z
    .object({
      ok: z.boolean(),
      error: z.string().nullable().describe('What the operator should look at'),
      key: z
        .enum(['accepted', 'untested', 'none'])
        .describe('`untested`: the list of models is public, so test a `model`. `none`: the provider has no key'),
      models: z.int().describe('How many models it has, as far as it says'),
      duration_ms: z.int(),
    })
    .meta({ id: 'ProviderTest' }),

  async run({ params: { name }, body: { model } }, context: ProbeNeeds & Needs<'now'>) {
    const { actor, now } = context
    requireWholeProject(actor)
    const started = now()
    const { ids, error: noList } = await askForModels(name, context)
    const error = model === undefined ? noList : await askModel(`${name}/${model}`, context)
    const given = error !== null ? 'nothing' : model === undefined ? 'list' : 'answer'
    const key = await context.runtime.provenKey(actor.scope.project_id, name, given)
    return { ok: error === null, error, key, models: ids.length, duration_ms: now() - started }
  },
})
