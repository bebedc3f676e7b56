import { operation } from '../../operation.ts'
import { listQuery } from '../../shapes.ts'
import * as callbacks from '../../webhooks/callback-store.ts'
import { InvocationParams } from '../invocation.ts'
import { type Callback, CallbackReply } from './callback.ts'
import { requireRun } from './callbacks-in-scope.ts'

export const listCallbacks = operation({
  id: 'listCallbacks',
  method: 'GET',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/callbacks',
  summary: 'List callbacks',
  description: "Lists the run's callbacks. The list doesn't include a callback's secret and the headers that it sends.",
  access: { permission: 'read', ownPermission: 'invoke', userTokens: true },
  input: { params: InvocationParams, query: listQuery(['created_at'], {}) },
  answer: { list: CallbackReply },

  async run({ params, query: { limit, offset, sort } }, { actor, db }) {
    await requireRun(params, 'read', { actor, db })
    const oldestFirst = (await callbacks.listOfRequest(db, params.request_id)) as Callback[]
    const all = sort === 'created_at' ? oldestFirst : oldestFirst.toReversed()
    return { items: all.slice(offset, offset + limit), total: all.length }
  },
})
