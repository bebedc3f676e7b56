import { createRequire } from 'node:module'
import { setImmediate as nextPass } from 'node:timers/promises'

const load = createRequire(import.meta.url)

/**
 * A package that is loaded when it is first used. This is for packages that most services never need: each has dozens
 * of files, which would delay every start and stay in memory.
 */
export function lazily<Package extends object>(name: string): () => Package {
  // Node would search for the package again each time, which takes as long as a small query.
  return firstFound(() => load(name) as Package)
}

/**
 * Finds something when it is first needed, and caches it. Use it only for things that never change while the process
 * runs.
 */
export function firstFound<T extends object>(find: () => T): () => T {
  let found: T | undefined
  return () => (found ??= find())
}

/**
 * The same for a package that is so large that loading it in one go would delay other requests for too long. Parts of
 * it, or packages that it uses, are loaded first, one after the other. The last name is the package itself.
 */
export function lazilyInTurn<Package extends object>(...names: readonly string[]): () => Promise<Package> {
  let loading: Promise<Package> | undefined
  const loadAll = async () => {
    for (const part of names.slice(0, -1)) {
      // A part that can't be loaded by itself is loaded with the package.
      await import(part).catch(() => {})
      await nextPass()
    }
    return (await import(names.at(-1) ?? '')) as Package
  }
  return () => (loading ??= loadAll())
}

export const PARTS_OF_UNDICI = [
  'undici/lib/core/util.js',
  'undici/lib/dispatcher/client.js',
  'undici/lib/dispatcher/agent.js',
  'undici/lib/api/index.js',
  'undici/lib/web/fetch/body.js',
  'undici/lib/web/fetch/index.js',
  'undici/lib/interceptor/cache.js',
  'undici/lib/mock/mock-agent.js',
] as const

/** The parts that the MCP client and server use. */
export const PARTS_OF_MCP = [
  'zod/v4/locales/en.js',
  'zod/v4/locales',
  'zod/v4/core',
  'zod/v4',
  '@modelcontextprotocol/core/internal',
] as const
