import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { forbidden } from '../../errors.ts'
import type { Needs } from '../../operation/context.ts'
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
  summary: 'Give a key a second factor',
  description:
    'Makes a TOTP secret for an authenticator app; it is in this reply only, and counts once a first code of it was confirmed. Needs another key with a second factor and its code in `X-Service-OTP`: a stolen key cannot give itself one. The first factor of all is made on the host, with `moorage mfa enrol`.',
  permission: 'manage',
  audit: { target: 'key_id' },
  mfa: 'always',
  idempotent: true,
  secret: true,
  params: KeyParams,
  concerns: concernedAgent,
  data: z
    .object({
      key_id: z.string(),
      status: z.literal('pending'),
      secret: z.string().describe('Base32, for those who type it'),
      uri: z.string().describe('`otpauth://…`, for the QR code'),
    })
    .meta({ id: 'NewKeyFactor' }),

  async run({ params }, { db, actor, config, keyring, now }: Needs<'db' | 'actor' | 'config' | 'keyring' | 'now'>) {
    const key = await getHolderInScope(db, actor, params.key_id)
    if (actor.id === key.id) throw forbidden('A key cannot give itself a second factor: use another key, or the host')
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
