import { z } from 'zod'
import { operation } from '../operation.ts'
import { listQuery } from '../shapes.ts'
import { ProviderReply, presentConfigured, presentStored } from './provider.ts'
import * as providers from './store.ts'

export const listProviders = operation({
  id: 'listProviders',
  method: 'GET',
  path: '/v1/providers',
  summary: 'List model providers',
  description:
    'Lists the providers from `moorage.yaml` and those set through the API, by name. API keys are never returned.',
  access: { permission: 'write' },
  input: { query: listQuery(['name'], {}).extend({ sort: z.enum(['name', '-name']).default('name') }) },
  answer: { list: ProviderReply },

  async run({ query: { limit, offset, sort } }, { db, actor, config }) {
    const stored = await providers.listAll(db, actor.scope.project_id)
    const configured = config.providers.map((provider) => presentConfigured(provider, stored))
    const others = stored.filter(({ name }) => !configured.some((known) => known.name === name)).map(presentStored)
    const all = [...configured, ...others].toSorted((a, b) => (a.name < b.name ? -1 : 1))
    if (sort.startsWith('-')) all.reverse()
    return { items: all.slice(offset, offset + limit), total: all.length }
  },
})
