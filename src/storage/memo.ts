import { type Cache, cache, type SubjectsOf } from '../lib/cache.ts'
import type { Change } from './database.ts'
import type { Storage } from './open-storage.ts'

/**
 * Answers from memory until a change is announced, by this node or another, of one of the ids that `subjectsOf` names.
 * Without `subjectsOf`, any change of that kind counts. Undefined is not remembered. While announcements do not arrive,
 * every call loads the value again.
 */
export type Memo = <T>(
  change: Change,
  key: string,
  load: () => Promise<T | undefined>,
  subjectsOf?: SubjectsOf<T>,
) => Promise<T | undefined>

/** How often the answer was in memory, and how often not. */
export type Lookups = { hits: { count: number }; misses: { count: number } }

export function openMemo(
  storage: Storage,
  lookupsOf: (change: Change) => Lookups = () => ({ hits: { count: 0 }, misses: { count: 0 } }),
): Memo {
  const caches = new Map<Change, { cache: Cache<unknown>; lookups: Lookups }>()
  storage.onChange((change, id) => caches.get(change)?.cache.forget(id))
  return async <T>(change: Change, key: string, load: () => Promise<T | undefined>, subjectsOf?: SubjectsOf<T>) => {
    let remembered = caches.get(change) as { cache: Cache<T>; lookups: Lookups } | undefined
    if (!remembered) {
      remembered = { cache: cache<T>(storage.hears), lookups: lookupsOf(change) }
      caches.set(change, remembered as { cache: Cache<unknown>; lookups: Lookups })
    }
    let counted: keyof Lookups = 'hits'
    const loadMissed = () => {
      counted = 'misses'
      return load()
    }
    const found = remembered.cache.get(key, loadMissed, subjectsOf)
    remembered.lookups[counted].count++
    return found
  }
}
