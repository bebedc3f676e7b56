export type Cache<T> = {
  /** `subjectsOf` names what a value tells of; without it the value is forgotten with every change. */
  get(
    key: string,
    load: (key: string) => Promise<T | undefined>,
    subjectsOf?: SubjectsOf<T>,
  ): T | undefined | Promise<T | undefined>
  /** Forgets what tells of this subject; without one, everything. */
  forget(subject?: string): void
}

export type SubjectsOf<T> = (value: T, key: string) => readonly string[]

type Entry<T> = { value: T; subjects: readonly string[] }

/** What has changed while a value was loaded. */
type Loading = { everything: boolean; changed: string[] }

/** The subject of values that name none. It is forgotten with every other. */
const ANY = ''
const OF_ANY = [ANY]

/**
 * Remembers what was loaded, until it is forgotten. A value that changed while it was loaded is answered but not
 * remembered: the load may have read what the change replaced. What is not found is never remembered. While `isTold` is
 * false changes may go unheard, so nothing is remembered.
 */
export function cache<T>(isTold: () => boolean = () => true, size = 10_000): Cache<T> {
  const found = new Map<string, Entry<T>>()
  const keysOf = new Map<string, Set<string>>()
  const loads = new Set<Loading>()

  const remember = (key: string, entry: Entry<T>) => {
    remove(key)
    if (found.size >= size) remove(found.keys().next().value as string)
    found.set(key, entry)
    for (const subject of entry.subjects) {
      const keys = keysOf.get(subject)
      if (keys) keys.add(key)
      else keysOf.set(subject, new Set([key]))
    }
  }
  const remove = (key: string) => {
    for (const subject of found.get(key)?.subjects ?? []) {
      const keys = keysOf.get(subject)
      keys?.delete(key)
      if (keys?.size === 0) keysOf.delete(subject)
    }
    found.delete(key)
  }

  return {
    get(key, load, subjectsOf) {
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
        keysOf.clear()
        return
      }
      for (const each of [subject, ANY]) for (const key of keysOf.get(each) ?? []) remove(key)
    },
  }
}
