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
) => T | undefined | Promise<T | undefined>

export function openMemo(storage: Storage): Memo {
  const caches = new Map<Change, Cache<unknown>>()
  storage.onChange((change, id) => caches.get(change)?.forget(id))
  return <T>(change: Change, key: string, load: () => Promise<T | undefined>, subjectsOf?: SubjectsOf<T>) => {
    let remembered = caches.get(change) as Cache<T> | undefined
    if (!remembered) {
      remembered = cache<T>(storage.hears)
      caches.set(change, remembered as Cache<unknown>)
    }
    return remembered.get(key, load, subjectsOf)
  }
}
