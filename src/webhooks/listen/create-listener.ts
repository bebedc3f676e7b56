import * as agents from '../../agents/store.ts'
import { conflict, invalid } from '../../errors.ts'
import { requireLasting } from '../../operation/actor.ts'
import { requireScope } from '../../operation/scope.ts'
import { operation } from '../../operation.ts'
import { CreateListenerBody, LISTENER_LIFE_MS, ListenerReply } from './listener.ts'
import * as listeners from './listener-store.ts'

const MAX_LISTENERS = 50

export const createListener = operation({
  id: 'createListener',
  method: 'POST',
  path: '/v1/listeners',
  summary: 'Listen for events',
  description:
    'Creates a listener for a receiver without a public URL. The listener collects the events that a webhook would receive, and keeps them until you fetch them. It expires two minutes after its last request. `moorage webhooks listen` uses it to forward events to a server on your machine.',
  access: {
    permission: 'write',
    concerns: async ({ body }) => body.agent_id,
  },
  mfa: { policy: 'webhooks' },
  audit: { target: 'reply' },
  idempotent: true,
  input: { body: CreateListenerBody },
  answer: { status: 201, data: ListenerReply, errors: ['conflict'] },

  async run({ body }, { db, actor, newId, now }) {
    requireLasting(actor, 'A webhook')
    const agent = body.agent_id === null ? undefined : await agents.findIn(db, actor.scope.project_id, body.agent_id)
    requireScope(actor, agent?.id ?? null)
    if (body.agent_id !== null && !agent)
      throw invalid({ field: 'agent_id', error: 'no agent with this ID or name exists' })
    const time = now()
    if ((await listeners.countAndHold(db, actor.scope.project_id, time)) >= MAX_LISTENERS) {
      throw conflict(
        `There are already ${MAX_LISTENERS} listeners, the maximum. A listener expires two minutes after its last request.`,
      )
    }
    const listener = {
      id: newId('lsn', time),
      project_id: actor.scope.project_id,
      agent_id: agent?.id ?? null,
      events: body.events,
      created_by: actor.id,
      created_at: time,
      expires_at: time + LISTENER_LIFE_MS,
    }
    await listeners.insert(db, listener)
    return { ...listener, deliveries: [] }
  },
})
