import { z } from 'zod'
import * as agents from '../../agents/store.ts'
import { conflict } from '../../errors.ts'
import * as incoming from '../../incoming/store.ts'
import { QueuedReply } from '../../invocations/receipt.ts'
import type { Needs } from '../../operation/context.ts'
import { operation } from '../../operation.ts'
import { newDelivery } from '../receive/inlet.ts'
import { readEvent } from '../receive/read-event.ts'
import { startRun } from '../receive/start-run.ts'
import * as triggers from '../store.ts'
import { IncomingParams } from '../trigger.ts'

type ReplayNeeds = Needs<'actor' | 'db' | 'newId' | 'now' | 'pauses' | 'request_id'>

export const replayTriggerDelivery = operation({
  id: 'replayTriggerDelivery',
  method: 'POST',
  path: '/v1/agents/{agent_id}/triggers/{trigger_id}/deliveries/{delivery_id}/replay',
  summary: 'Replay a delivery',
  description:
    "Starts another background run with the delivery's payload and the trigger's current message template, with the permissions of the key that sends this request. The trigger's filter isn't applied, and the trigger can be disabled. If the payload isn't stored, the request fails with 409.",
  access: { permission: 'write' },
  mfa: { policy: 'invoke' },
  audit: { target: 'delivery_id' },
  idempotent: true,
  input: { params: IncomingParams },
  answer: {
    status: 202,
    data: z.object({ ...QueuedReply.shape, delivery_id: z.string() }).meta({ id: 'ReplayedDelivery' }),
    errors: ['agent_paused', 'conflict', 'session_busy'],
  },

  async run({ params }, context: ReplayNeeds) {
    const { actor, db, request_id } = context
    const agent = await agents.get(db, params.agent_id)
    const trigger = await triggers.get(db, agent.id, params.trigger_id)
    const { id, body, headers } = await incoming.get(db, trigger.id, params.delivery_id)
    if (body === null) throw conflict('The payload of this delivery is not stored.')
    const payload = { headers, body: JSON.parse(body) as unknown }
    const event = readEvent({ ...trigger, filter: [], dedupe_from: null }, payload, undefined)
    if (!event.isWanted) throw conflict(event.ignored?.reason ?? 'The trigger ignores what this delivery contains.')
    const { user_id, session_id } = event
    const replayed = { ...newDelivery(trigger, context), replay_of: id, request_id, user_id, session_id, headers, body }
    await incoming.insert(db, { ...replayed, outcome: 'accepted' })
    await startRun(db, { trigger, agent, event }, { actor, delivery_id: replayed.id, request_id }, context)
    return { request_id, status: 'queued' as const, delivery_id: replayed.id }
  },
})
