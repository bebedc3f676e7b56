import { randomBytes } from 'node:crypto'
import { conflict, forbidden, requireFewSecrets } from '../errors.ts'
import { operation } from '../operation.ts'
import { sha256 } from '../security/digest.ts'
import { newKey } from '../security/key-format.ts'
import { RotationBody } from '../shapes.ts'
import type { Database } from '../storage/database.ts'
import { requireNoEscalation } from './escalation.ts'
import { hintOf, type Key, KeyParams, KeyWithSecret, presentKey, statusOf } from './key.ts'
import { concernedAgent, getInScope } from './key-in-scope.ts'
import { withOwner } from './key-names.ts'
import * as keys from './store.ts'

export const rotateKey = operation({
  id: 'rotateKey',
  method: 'POST',
  path: '/v1/keys/{key_id}/rotate',
  summary: 'Rotate an API key',
  description:
    "The key keeps its ID and gets a new secret, returned only in this reply. The old secret works until the grace period ends, with exceptions: it can't create keys, roles, sessions, webhooks, schedules or triggers. It can't set an agent's `auth` or rotate the key again either. Secrets from earlier rotations keep their own grace periods; `grace_period_seconds: 0` ends all old secrets immediately.",
  access: { permission: 'manage', concerns: concernedAgent },
  mfa: { policy: 'keys' },
  audit: { target: 'key_id' },
  idempotent: true,
  input: { params: KeyParams, body: RotationBody, bodyOptional: true },
  answer: { data: KeyWithSecret, secret: true, errors: ['conflict'] },

  async run({ params, body }, { db, actor, config, now }) {
    await keys.lock(db, params.key_id)
    const key = await getInScope(db, actor, params.key_id)
    if (key.person_id !== null && key.person_id !== actor.person_id) {
      throw forbidden('This key belongs to a person, and only that person can have its secret. Revoke the key instead.')
    }
    requireNoEscalation(actor, key, config)
    const time = now()
    const status = statusOf(key, time)
    if (status !== 'active') throw conflict(`This key is ${status}. Create a new one.`)

    const secret = newKey(randomBytes)
    const changes = {
      hash: sha256(secret),
      hint: hintOf(secret),
      previous_secret_expires_at: await keepSecret(db, key, body.grace_period_seconds * 1000, time),
      // Otherwise an earlier rotator who has the secret could rotate with the key itself, to hide that.
      rotated_by: actor.id === key.id ? key.rotated_by : actor.id,
    }
    await keys.update(db, key.id, changes)
    // Whoever had the old secret may have connected them.
    await keys.revokeConnected(db, key.id, time)
    const shown = presentKey({ ...key, ...changes }, time)
    return { ...(await withOwner(db, actor, shown)), secret }
  },
})

/** Keeps the present secret for its grace period. Returns when the last of the earlier secrets expires. */
async function keepSecret(db: Database, { id, hash }: Key, grace_ms: number, now: number): Promise<number | null> {
  if (grace_ms === 0) {
    await keys.removeEarlierSecrets(db, id, Number.MAX_SAFE_INTEGER)
    return null
  }
  const earlier = (await keys.listEarlierSecrets(db, id, now)).map(({ expires_at }) => expires_at)
  requireFewSecrets(earlier.length)
  await keys.insertEarlierSecret(db, { hash, key_id: id, expires_at: now + grace_ms })
  return Math.max(now + grace_ms, ...earlier)
}
