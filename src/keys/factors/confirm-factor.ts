import { z } from 'zod'
import { ApiError, conflict, invalid } from '../../errors.ts'
import { operation } from '../../operation.ts'
import { KeyParams } from '../key.ts'
import { concernedAgent, getHolderInScope } from '../key-in-scope.ts'
import { FactorReply, presentFactor } from './factor.ts'
import * as factors from './factor-store.ts'
import { spendCode } from './spend-code.ts'

export const confirmFactor = operation({
  id: 'confirmFactor',
  method: 'POST',
  path: '/v1/keys/{key_id}/mfa/confirm',
  summary: 'Confirm a second factor',
  description:
    'Sends the first code of a new second factor, which proves that the authenticator app has the secret. The factor then takes effect and replaces the earlier one.',
  access: { permission: 'manage', concerns: concernedAgent },
  audit: { target: 'key_id' },
  idempotent: true,
  // A wrong code must stay counted, so nothing is rolled back when the request fails.
  transaction: false,
  input: { params: KeyParams, body: z.strictObject({ code: z.string().regex(/^\d{6}$/, 'must be six digits') }) },
  answer: { data: FactorReply, errors: ['conflict'] },

  async run({ params, body }, { storage, actor, keyring, now }) {
    const { key_id } = params
    await getHolderInScope(storage.db, actor, key_id)
    const tried = await spendCode(storage.db, keyring, { key_id, code: body.code, status: 'pending', now: now() })
    if (!tried) throw noneWaits()
    if (!tried.ok && tried.reason === 'locked') {
      throw new ApiError('rate_limited', 'Too many wrong codes. Try again later.', {
        retry_after: Math.ceil(tried.retry_after_ms / 1000),
      })
    }
    if (!tried.ok) throw invalid({ field: 'code', error: 'is wrong' })
    return storage.transaction(async (db) => {
      if (!(await factors.activate(db, key_id))) throw noneWaits()
      return presentFactor(key_id, await factors.listOf(db, key_id), now())
    })
  },
})

function noneWaits(): ApiError {
  return conflict('This key has no second factor waiting to be confirmed.')
}
