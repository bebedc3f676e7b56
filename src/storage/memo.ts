import { type Cache, cache, type Lookup, type SubjectsOf } from '../lib/cache.ts'
import type { Change } from './database.ts'
import type { Storage } from './open-storage.ts'

/** The kinds of cached data. A snapshot is everything that a request needs to know together. */
export type MemoKind = Change | 'snapshots'

/** The kinds of changes that drop a snapshot. They are announced with the ID of its agent or its project. */
const IN_SNAPSHOTS: ReadonlySet<Change> = new Set([
  'agents',
  'budgets',
  'deployments',
  'pauses',
  'prices',
  'projects',
  'providers',
  'webhooks',
])

/**
 * Answers from memory until this node or another one announces a change of one of the IDs that `subjectsOf` returns.
 * Without `subjectsOf`, any change of that kind counts. Undefined isn't cached. While announcements don't arrive, every
 * call loads the value again.
 */
export type Memo = {
  <T>(kind: MemoKind, key: string, load: () => Promise<T | undefined>, subjectsOf?: SubjectsOf<T>): Lookup<T>
  /** Whether a value that was returned earlier is still current. */
  holds(kind: MemoKind, value: object): boolean
}

/** How often a value was found in memory, and how often it wasn't. */
export type Lookups = { hits: { count: number }; misses: { count: number } }

export function openMemo(
  storage: Pick<Storage, 'hears' | 'onChange'>,
  lookupsOf: (kind: MemoKind) => Lookups = () => ({ hits: { count: 0 }, misses: { count: 0 } }),
): Memo {
  const caches = new Map<MemoKind, { cache: Cache<unknown>; lookups: Lookups }>()
  storage.onChange((change, id) => {
    caches.get(change)?.cache.forget(id)
    if (IN_SNAPSHOTS.has(change)) caches.get('snapshots')?.cache.forget(id)
  })
  const ask = <T>(kind: MemoKind, key: string, load: () => Promise<T | undefined>, subjectsOf?: SubjectsOf<T>) => {
    let remembered = caches.get(kind) as { cache: Cache<T>; lookups: Lookups } | undefined
    if (!remembered) {
      remembered = { cache: cache<T>(storage.hears), lookups: lookupsOf(kind) }
      caches.set(kind, remembered as { cache: Cache<unknown>; lookups: Lookups })
    }
    const found = remembered.cache.get(key, load, subjectsOf)
    remembered.lookups[found instanceof Promise ? 'misses' : 'hits'].count++
    return found
  }
  return Object.assign(ask, {
    holds: (kind: MemoKind, value: object) => caches.get(kind)?.cache.holds(value) ?? false,
  })
}
