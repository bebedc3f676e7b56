import type { Lookup } from '../lib/cache.ts'
import type { Actor } from '../operation/actor.ts'
import type { Parts } from '../operation/parts.ts'
import { actorOf, type Key, statusOf } from './key.ts'
import * as keys from './store.ts'

export type KeyVerifier = {
  /** The key of a valid secret, by its hash; undefined for any other hash. */
  verify(hash: string): Lookup<KnownKey>
  /** Whether it is the same still, and in force. */
  isStill(key: object): boolean
  /** Counts as a use of the key, although its secret was not shown: a browser is signed in with it. */
  noteUse(key_id: string): void
  /** Stores when keys were last used. */
  flush(): Promise<void>
}

/** A key as it is remembered. */
class KnownKey {
  readonly key: Key
  readonly actor: Actor

  constructor(key: Key, actor: Actor) {
    this.key = key
    this.actor = actor
  }
}

/** A key is forgotten when it changes, and when its agent does. */
function subjectsOf({ key: { id, agent_id } }: KnownKey): string[] {
  return agent_id === null ? [id] : [id, agent_id]
}

/** Keys in use are kept in memory, until they change on any node. */
export function keyVerifier({ memo, now, storage }: Pick<Parts, 'memo' | 'now' | 'storage'>): KeyVerifier {
  const load = async (hash: string) => {
    const found = await keys.findBySecret(storage.db, hash)
    if (!found) return undefined
    const { key, until } = found
    return new KnownKey(key, { ...actorOf(key), ...(until !== null && { by_previous_secret_until: until }) })
  }
  const used = new Map<string, number>()
  const noteUse = (key_id: string) => void used.set(key_id, now())

  const isInForce = ({ key, actor }: KnownKey) =>
    statusOf(key, now()) === 'active' && (actor.by_previous_secret_until ?? Number.POSITIVE_INFINITY) > now()
  const inForce = (found: KnownKey | undefined): KnownKey | undefined => {
    if (!found || !isInForce(found)) return undefined
    noteUse(found.key.id)
    return found
  }

  return {
    noteUse,
    verify(hash) {
      const found = memo('keys', hash, () => load(hash), subjectsOf)
      return found instanceof Promise ? found.then(inForce) : inForce(found)
    },
    isStill: (key) => key instanceof KnownKey && memo.holds('keys', key) && isInForce(key),
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
