import { LRUCache } from 'lru-cache'

export type Cache<T> = {
  /** `subjectsOf` names what a value is about. Without it, the value is forgotten with every change. */
  get(key: string, load: (key: string) => Promise<T | undefined>, subjectsOf?: SubjectsOf<T>): Promise<T | undefined>
  /** Forgets the values about this subject. Without one, it forgets everything. */
  forget(subject?: string): void
}

export type SubjectsOf<T> = (value: T, key: string) => readonly string[]

type Entry<T> = { value: T; subjects: readonly string[] }

/** What has changed while a value was being loaded. */
type Loading = { everything: boolean; changed: string[] }

/** The subject of values that name none. They are forgotten with every change. */
const ANY = ''
const OF_ANY = [ANY]

/**
 * Remembers loaded values until they are forgotten. A value that changed while it was loaded is returned but not
 * remembered, because the load may have read the old one. Undefined is never remembered. While `isTold` returns false,
 * changes may go unnoticed, so nothing is remembered.
 */
export function cache<T>(isTold: () => boolean = () => true, size = 10_000): Cache<T> {
  const keysOf = new Map<string, Set<string>>()
  const found = new LRUCache<string, Entry<T>>({
    // With `max` the memory for all of them would be taken now.
    maxSize: size,
    sizeCalculation: () => 1,
    dispose({ subjects }, key) {
      for (const subject of subjects) {
        const keys = keysOf.get(subject)
        keys?.delete(key)
        if (keys?.size === 0) keysOf.delete(subject)
      }
    },
  })
  const loads = new Set<Loading>()

  const remember = (key: string, entry: Entry<T>) => {
    found.set(key, entry)
    for (const subject of entry.subjects) {
      const keys = keysOf.get(subject)
      if (keys) keys.add(key)
      else keysOf.set(subject, new Set([key]))
    }
  }

  return {
    async get(key, load, subjectsOf) {
      if (!isTold()) return load(key)
      const hit = found.get(key)
      if (hit !== undefined) return hit.value
      const loading: Loading = { everything: false, changed: [] }
      loads.add(loading)
      return load(key)
        .then((value) => {
          if (value === undefined || loading.everything) return value
          const subjects = subjectsOf?.(value, key) ?? OF_ANY
          if (!loading.changed.some((subject) => subjects.includes(subject))) remember(key, { value, subjects })
          return value
        })
        .finally(() => loads.delete(loading))
    },
    forget(subject) {
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
