import { type Actor, endOfRight } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { actorOf, type Key } from './key.ts'
import * as keys from './store.ts'

export type KeyVerifier = {
  /** The key of a valid secret, by its hash; undefined for any other hash. */
  verify(hash: string): Promise<CachedKey | undefined>
  /** Counts a use of the key without its secret: a browser is signed in with it. */
  noteUse(key_id: string): void
  /** Stores when keys were last used. */
  flush(): Promise<void>
}

/** A key in the cache, and until when it is valid: 0 for a revoked one. */
type CachedKey = { readonly key: Key; readonly actor: Actor; readonly until: number }

/** A key is dropped when it changes, and when its agent does. */
function subjectsOf({ key: { id, agent_id } }: CachedKey): string[] {
  return agent_id === null ? [id] : [id, agent_id]
}

/** Keys in use are cached until they change on any node. */
export function keyVerifier({ memo, now, storage }: Pick<Parts, 'memo' | 'now' | 'storage'>): KeyVerifier {
  const load = async (hash: string): Promise<CachedKey | undefined> => {
    const found = await keys.findBySecret(storage.db, hash)
    if (!found) return undefined
    const { key, until } = found
    const actor = { ...actorOf(key), ...(until !== null && { by_previous_secret_until: until }) }
    return { key, actor, until: key.revoked_at === null ? endOfRight(actor) : 0 }
  }
  const used = new Map<string, number>()

  return {
    noteUse: (key_id) => void used.set(key_id, now()),
    async verify(hash) {
      const found = await memo('keys', hash, () => load(hash), subjectsOf)
      const time = now()
      if (!found || found.until <= time) return undefined
      used.set(found.key.id, time)
      return found
    },
    async flush() {
      if (used.size === 0) return
      const batch = new Map(used)
      used.clear()
      try {
        await keys.updateLastUsed(storage.db, batch)
      } catch (error) {
        // The next flush writes them again, unless the key was used since.
        for (const [id, at] of batch) if (!used.has(id)) used.set(id, at)
        throw error
      }
    },
  }
}
