import { LRUCache } from 'lru-cache'

/** A value in memory, or the promise of a value that is being loaded. */
export type Lookup<T> = T | undefined | Promise<T | undefined>

export type Cache<T> = {
  /** `subjectsOf` returns the IDs of what a value is about. Without it, every change drops the value. */
  get(key: string, load: (key: string) => Promise<T | undefined>, subjectsOf?: SubjectsOf<T>): Lookup<T>
  /** Whether this value is still cached, so nothing that it is about has changed since it was loaded. */
  holds(value: T & object): boolean
  /** Drops the values about this subject. Without a subject, drops everything. */
  forget(subject?: string): void
}

export type SubjectsOf<T> = (value: T, key: string) => readonly string[]

type Entry<T> = { value: T; subjects: readonly string[] }

/** What has changed while a value was being loaded. */
type ChangesDuringLoad = { everything: boolean; changed: string[] }

/** The subject of values that name none. Every change drops them. */
const ANY = ''
const OF_ANY = [ANY]

/**
 * Caches loaded values until they are dropped. A value that changed while it was loaded is returned but not cached,
 * because the load may have read the old value. Undefined is never cached. While `isTold` returns false, changes may go
 * unnoticed, so nothing is cached.
 */
export function cache<T>(isTold: () => boolean = () => true, size = 10_000): Cache<T> {
  const keysOf = new Map<string, Set<string>>()
  const present = new WeakSet<object>()
  const found = new LRUCache<string, Entry<T>>({
    // With `max`, the memory for all entries would be allocated now.
    maxSize: size,
    sizeCalculation: () => 1,
    dispose({ value, subjects }, key) {
      if (isObject(value)) present.delete(value)
      for (const subject of subjects) {
        const keys = keysOf.get(subject)
        keys?.delete(key)
        if (keys?.size === 0) keysOf.delete(subject)
      }
    },
  })
  const loads = new Set<ChangesDuringLoad>()
  /** Loads that began after the last change. Callers that need the same key wait for them. */
  const shared = new Map<string, Promise<T | undefined>>()

  const remember = (key: string, entry: Entry<T>) => {
    found.set(key, entry)
    if (isObject(entry.value)) present.add(entry.value)
    for (const subject of entry.subjects) {
      const keys = keysOf.get(subject)
      if (keys) keys.add(key)
      else keysOf.set(subject, new Set([key]))
    }
  }

  const loadShared = (key: string, load: (key: string) => Promise<T | undefined>, subjectsOf?: SubjectsOf<T>) => {
    const loading: ChangesDuringLoad = { everything: false, changed: [] }
    loads.add(loading)
    const loaded = load(key)
      .then((value) => {
        if (value === undefined || loading.everything) return value
        const subjects = subjectsOf?.(value, key) ?? OF_ANY
        if (!loading.changed.some((subject) => subjects.includes(subject))) remember(key, { value, subjects })
        return value
      })
      .finally(() => {
        loads.delete(loading)
        if (shared.get(key) === loaded) shared.delete(key)
      })
    shared.set(key, loaded)
    return loaded
  }

  return {
    get(key, load, subjectsOf) {
      if (!isTold()) return load(key)
      const hit = found.get(key)
      return hit === undefined ? (shared.get(key) ?? loadShared(key, load, subjectsOf)) : hit.value
    },
    holds: (value) => isTold() && present.has(value),
    forget(subject) {
      shared.clear()
      for (const loading of loads) {
        if (subject === undefined) loading.everything = true
        else loading.changed.push(subject, ANY)
      }
      if (subject === undefined) {
        found.clear()
        return
      }
      for (const each of [subject, ANY]) for (const key of keysOf.get(each) ?? []) found.delete(key)
    },
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
