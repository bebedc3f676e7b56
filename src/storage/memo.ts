import { type Cache, cache } from '../lib/cache.ts'
import type { Change } from './database.ts'
import type { Storage } from './open-storage.ts'

/** Answers from memory until the change is announced, by this node or another; what is undefined is not remembered. Asks anew while announcements do not arrive. */
export type Memo = <T>(
  change: Change,
  key: string,
  load: () => Promise<T | undefined>,
) => T | undefined | Promise<T | undefined>

export function openMemo(storage: Storage): Memo {
  const caches = new Map<Change, Cache<unknown>>()
  storage.onChange((change) => caches.get(change)?.clear())
  return <T>(change: Change, key: string, load: () => Promise<T | undefined>) => {
    let remembered = caches.get(change)
    if (!remembered) {
      remembered = cache<unknown>(storage.hears)
      caches.set(change, remembered)
    }
    return remembered.get(key, load) as T | undefined | Promise<T | undefined>
  }
}
