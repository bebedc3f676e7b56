import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { forbidden } from '../../errors.ts'
import { operation } from '../../operation.ts'
import { NEW_FACTOR_STATE, newFactor } from '../../security/one-time-code.ts'
import { requireNoEscalation } from '../escalation.ts'
import { KeyParams } from '../key.ts'
import { concernedAgent, getHolderInScope } from '../key-in-scope.ts'
import { FACTOR_PURPOSE } from './factor.ts'
import * as factors from './factor-store.ts'

export const enrolFactor = operation({
  id: 'enrolFactor',
  method: 'POST',
  path: '/v1/keys/{key_id}/mfa',
  summary: 'Set up a second factor for a key',
  description:
    "Creates a TOTP secret for an authenticator app, returned only in this reply. It takes effect once you confirm a first code. Requires another key with a second factor and its code in `X-Service-OTP`, so a stolen key can't set up its own. Set up the first second factor on the server with `moorage mfa enrol --local`.",
  access: { permission: 'manage', concerns: concernedAgent },
  mfa: { policy: 'always' },
  audit: { target: 'key_id' },
  idempotent: true,
  input: { params: KeyParams },
  answer: {
    data: z
      .object({
        key_id: z.string(),
        status: z.literal('pending'),
        secret: z.string().describe('Base32, for typing in'),
        uri: z.string().describe('`otpauth://…`, for the QR code'),
      })
      .meta({ id: 'NewKeyFactor' }),
    secret: true,
  },

  async run({ params }, { db, actor, config, keyring, now }) {
    const key = await getHolderInScope(db, actor, params.key_id)
    if (actor.id === key.id)
      throw forbidden(
        "A key can't set up its own second factor. Use another key, or `moorage mfa enrol --local` on the server.",
      )
    requireNoEscalation(actor, key, config)

    const { secret, uri } = newFactor({ label: `${key.name} (${key.id})`, random: randomBytes })
    await factors.insertPending(db, {
      ...NEW_FACTOR_STATE,
      key_id: key.id,
      status: 'pending',
      secret: keyring.encrypt(secret, FACTOR_PURPOSE),
      version: 1,
      created_at: now(),
      created_by: actor.id,
    })
    return { key_id: key.id, status: 'pending' as const, secret, uri }
  },
})
