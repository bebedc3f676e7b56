import type { Actor } from '../operation/actor.ts'
import { requireFound } from '../operation/scope.ts'
import type { Database } from '../storage/database.ts'
import type { Key } from './key.ts'
import * as keys from './store.ts'

export async function getInScope(db: Database, actor: Actor, id: string): Promise<Key> {
  const key = await keys.find(db, id)
  return requireFound(actor, key?.role_source === null ? key : undefined, { kind: 'Key', id })
}

/** A key, or a person's role: both can have a second factor. */
export async function getHolderInScope(db: Database, actor: Actor, id: string): Promise<Key> {
  return requireFound(actor, await keys.find(db, id), { kind: 'Key', id })
}

/** The agent that the key in the path is limited to. That agent's own security also applies to its keys. */
export async function concernedAgent({ params }: { params: { key_id: string } }, db: Database): Promise<string | null> {
  return (await keys.find(db, params.key_id))?.agent_id ?? null
}
