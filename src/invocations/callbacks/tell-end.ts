import * as agents from '../../agents/store.ts'
import type { Parts } from '../../operation/parts.ts'
import type { Database } from '../../storage/database.ts'
import { listUntold } from '../../webhooks/callback-store.ts'
import * as webhooks from '../../webhooks/store.ts'
import { endEvent } from '../effects/effects.ts'
import type { EndedInvocation } from '../invocation.ts'
import * as invocations from '../store.ts'

/** Notifies a callback that its run has ended, unless that has already happened. */
export function tellEnd(webhook_id: string, parts: Pick<Parts, 'events' | 'now' | 'storage'>): Promise<void> {
  return parts.storage.transaction(async (db) => {
    // Another node may try to notify the callback at the same time.
    await webhooks.lock(db, webhook_id)
    await tellUntold(db, webhook_id, parts)
  })
}

export async function tellUntold(
  db: Database,
  webhook_id: string,
  { events, now }: Pick<Parts, 'events' | 'now'>,
): Promise<void> {
  for (const { request_id, agent_seq } of await listUntold(db, now(), webhook_id)) {
    const agent = await agents.findBySeq(db, agent_seq)
    const ended = (await invocations.get(db, agent_seq, request_id)) as EndedInvocation
    if (agent) await events.emitTo(db, endEvent(ended, agent), [webhook_id])
  }
}
