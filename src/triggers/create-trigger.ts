import { randomBytes } from 'node:crypto'
import { AgentParams } from '../agents/agent.ts'
import * as agents from '../agents/store.ts'
import { conflict } from '../errors.ts'
import { requireLasting } from '../operation/actor.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { sha256 } from '../security/digest.ts'
import { present } from './present.ts'
import { requireAccess, requireKind, requireSecret } from './require-secret.ts'
import * as triggers from './store.ts'
import { CreateTriggerBody, purposeOf, type Trigger, TriggerReply } from './trigger.ts'

type CreateTriggerNeeds = Needs<'actor' | 'config' | 'db' | 'keyring' | 'newId' | 'now' | 'secrets'>

const TOKEN_BYTES = 32

export const createTrigger = operation({
  id: 'createTrigger',
  method: 'POST',
  path: '/v1/agents/{agent_id}/triggers',
  summary: 'Create a trigger',
  description:
    "Creates a URL (`address`) to which another service sends its events. Each verified request starts a background run. Runs have the permissions of the key that last changed the trigger. If that key is revoked or expires, the trigger is disabled. Tokens can't create triggers, because a trigger would outlive its token.",
  access: { permission: 'write' },
  mfa: { policy: 'invoke' },
  audit: { target: 'reply' },
  idempotent: true,
  input: { params: AgentParams, body: CreateTriggerBody },
  answer: { status: 201, data: TriggerReply, secret: true, errors: ['conflict'] },

  async run({ params, body }, context: CreateTriggerNeeds) {
    const { actor, config, db, keyring, newId, now } = context
    requireLasting(actor, 'A trigger')
    const agent = await agents.lock(db, params.agent_id)
    const { maxPerAgent } = config.triggers
    if ((await triggers.count(db, agent.id)) >= maxPerAgent) {
      throw conflict(
        `This agent already has ${maxPerAgent} triggers, the limit set by triggers.maxPerAgent. Delete one first.`,
      )
    }
    requireKind(body)
    await requireSecret(body, agent.project_id, context)
    await requireAccess(body, agent.project_id, context)
    const time = now()
    const id = newId('trg', time)
    const token = randomBytes(TOKEN_BYTES).toString('base64url')
    const trigger: Trigger = {
      ...body,
      message: body.message ?? (body.kind === 'webhook' ? '{{body}}' : '{{text}}'),
      reply: body.kind === 'webhook' ? null : (body.reply ?? true),
      id,
      agent_id: agent.id,
      disabled_reason: body.enabled ? null : 'requested',
      token: keyring.encrypt(token, purposeOf({ id })),
      token_hash: sha256(token),
      created_by: actor.id,
      updated_by: actor.id,
      authors: [actor.id],
      created_at: time,
      updated_at: time,
    }
    await triggers.insert(db, trigger)
    return present(db, trigger, context)
  },
})
