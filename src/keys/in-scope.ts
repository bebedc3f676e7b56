import type { Actor } from '../operation/actor.ts'
import { outOfScope } from '../operation/scope.ts'
import type { Database } from '../storage/database.ts'
import type { Key } from './key.ts'
import * as keys from './store.ts'

/** To a scoped actor a key of another scope and one that does not exist look alike. */
export async function getInScope(db: Database, actor: Actor, id: string): Promise<Key> {
  if (actor.agent_id === null) return keys.get(db, id)
  const key = await keys.find(db, id)
  if (key?.agent_id !== actor.agent_id) throw outOfScope()
  return key
}

/** The agent to which the key of a path is limited: its own security holds for its keys too. */
export async function concernedAgent({ params }: { params: { key_id: string } }, db: Database): Promise<string | null> {
  return (await keys.find(db, params.key_id))?.agent_id ?? null
}
