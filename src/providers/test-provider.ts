import { z } from 'zod'
import type { Needs } from '../operation/context.ts'
import { requireWholeProject } from '../operation/scope.ts'
import { operation } from '../operation.ts'
import { Label } from '../shapes.ts'
import { askForModels, askModel, type ProbeNeeds } from './ask-provider.ts'
import { ProviderParams } from './provider.ts'

export const testProvider = operation({
  id: 'testProvider',
  method: 'POST',
  path: '/v1/providers/{name}/test',
  summary: 'Test a model provider',
  description:
    "Asks the provider for its list of models, which costs nothing, and reports the result. If the provider has a key, the list is also requested without it, because a public list doesn't prove that the key works. With `model`, that model also answers one short message.",
  access: { permission: 'manage' },
  audit: { target: 'name' },
  idempotent: true,
  // No transaction, because it waits for the provider.
  transaction: false,
  input: {
    params: ProviderParams,
    body: z
      .strictObject({
        model: Label(200).optional().describe("A model of the provider, without the provider's name"),
      })
      .meta({ id: 'TestProvider' }),
    bodyOptional: true,
  },
  answer: {
    data: z
      .object({
        ok: z.boolean(),
        error: z.string().nullable().describe('What the operator should check'),
        key: z
          .enum(['accepted', 'untested', 'none'])
          .describe('`untested`: the list of models is public, so test a `model`. `none`: the provider has no key'),
        models: z.int().describe('How many models it has, if it reports them'),
        duration_ms: z.int(),
      })
      .meta({ id: 'ProviderTest' }),
  },

  async run({ params: { name }, body: { model } }, context: ProbeNeeds & Needs<'now'>) {
    const { actor, now } = context
    requireWholeProject(actor, 'providers')
    const started = now()
    const { ids, error: noList } = await askForModels(name, context)
    const error = model === undefined ? noList : await askModel(`${name}/${model}`, context)
    const given = error !== null ? 'nothing' : model === undefined ? 'list' : 'answer'
    const key = await context.runtime.provenKey(actor.scope.project_id, name, given)
    return { ok: error === null, error, key, models: ids.length, duration_ms: now() - started }
  },
})
