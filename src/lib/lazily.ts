import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

/**
 * A package that is loaded when it is first used. It is for packages that most services never need: each has dozens of
 * files, which would delay every start and stay in memory.
 */
export function lazily<Package extends object>(name: string): () => Package {
  // Node would search for the package again each time, which takes as long as a small query.
  return firstFound(() => load(name) as Package)
}

/** Finds something when it is first asked for, and remembers it. It is for what never changes while the process runs. */
export function firstFound<T extends object>(find: () => T): () => T {
  let found: T | undefined
  return () => (found ??= find())
}
