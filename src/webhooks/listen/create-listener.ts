import * as agents from '../../agents/store.ts'
import { conflict, invalid } from '../../errors.ts'
import { requireLasting } from '../../operation/actor.ts'
import type { Needs } from '../../operation/context.ts'
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
    'For a receiver that has no public address: hears what a webhook would hear, and keeps it until it is asked. It ends two minutes after it was last asked. `moorage webhooks listen` forwards the events to a server on your machine.',
  permission: 'write',
  audit: { target: 'reply' },
  mfa: 'webhooks',
  idempotent: true,
  success: 201,
  errors: ['conflict'],
  body: CreateListenerBody,
  concerns: async ({ body }) => body.agent_id,
  data: ListenerReply,

  async run({ body }, { db, actor, newId, now }: Needs<'db' | 'actor' | 'newId' | 'now'>) {
    requireLasting(actor, 'A webhook')
    const agent = body.agent_id === null ? undefined : await agents.findIn(db, actor.scope.project_id, body.agent_id)
    requireScope(actor, agent?.id ?? null)
    if (body.agent_id !== null && !agent) throw invalid({ field: 'agent_id', error: 'no such agent' })
    const time = now()
    if ((await listeners.count(db, actor.scope.project_id, time)) >= MAX_LISTENERS) {
      throw conflict(`There are ${MAX_LISTENERS} listeners already: one ends two minutes after it was last asked`)
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
