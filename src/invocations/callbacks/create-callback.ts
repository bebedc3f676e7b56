import { conflict } from '../../errors.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import * as callbacks from '../../webhooks/callback-store.ts'
import { InvocationParams } from '../invocation.ts'
import { CallbackWithSecret, callbackOf, NewCallback } from './callback.ts'
import { requireRun } from './callbacks-in-scope.ts'
import { tellUntold } from './tell-end.ts'

const MOST_OF_A_RUN = 10

type CallbackNeeds = Needs<'actor' | 'config' | 'db' | 'events' | 'keyring' | 'newId' | 'now'>

export const createCallback = operation({
  id: 'createCallback',
  method: 'POST',
  path: '/v1/agents/{agent_id}/invocations/{request_id}/callbacks',
  summary: 'Create a callback',
  description:
    'Creates a webhook for a single run. It is called when the run waits for a person and when it ends, or immediately if the run has already ended. Requests are signed, retried and limited like those of webhooks. The callback is deleted with the receipt. A run can have up to 10.',
  access: { permission: 'write', ownPermission: 'invoke', userTokens: true },
  mfa: { policy: 'webhooks' },
  audit: { target: 'reply' },
  idempotent: true,
  input: { params: InvocationParams, body: NewCallback },
  answer: { status: 201, data: CallbackWithSecret, secret: true, errors: ['conflict'] },

  async run({ params, body }, context: CallbackNeeds) {
    const { db } = context
    const { id: agent_id, project_id } = await requireRun(params, 'write', context)
    // The lock makes simultaneous requests run one after the other, so each sees the callbacks that exist already.
    await callbacks.hold(db, params.request_id)
    const { callback, secret } = callbackOf(body, { project_id, agent_id, request_id: params.request_id }, context)
    const all = await callbacks.listOfRequest(db, params.request_id)
    const replaced = body.name === undefined ? undefined : all.find(({ name }) => name === body.name)
    if (replaced) await callbacks.remove(db, replaced.id)
    else if (all.length >= MOST_OF_A_RUN) throw conflict(`A run can have at most ${MOST_OF_A_RUN} callbacks.`)
    await callbacks.insert(db, callback)
    await tellUntold(db, callback.id, context)
    return { ...callback, secret }
  },
})
