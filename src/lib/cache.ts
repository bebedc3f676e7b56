export type Cache<T> = {
  get(key: string, load: (key: string) => Promise<T | undefined>): T | undefined | Promise<T | undefined>
  clear(): void
}

/**
 * Remembers what was loaded, until cleared. A load that was under way when the cache was cleared is answered but not
 * remembered: it may have read what the change replaced. What is not found is never remembered. While `isTold` is false
 * changes may go unheard, so nothing is remembered.
 */
export function cache<T>(isTold: () => boolean = () => true, size = 10_000): Cache<T> {
  const found = new Map<string, T>()
  let generation = 0
  return {
    get(key, load) {
      if (!isTold()) return load(key)
      const hit = found.get(key)
      if (hit !== undefined) return hit
      const started = generation
      return load(key).then((value) => {
        if (value !== undefined && generation === started) {
          if (found.size >= size) found.delete(found.keys().next().value as string)
          found.set(key, value)
        }
        return value
      })
    },
    clear() {
      generation++
      found.clear()
    },
  }
}
