import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

/**
 * A package that is loaded when it is first used. It is for packages that most services never need: each has dozens of
 * files, which would delay every start and stay in memory.
 */
export function lazily<Package>(name: string): () => Package {
  // Node would search for the package again each time, which takes as long as a small query.
  let loaded: Package | undefined
  return () => (loaded ??= load(name) as Package)
}
