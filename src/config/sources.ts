import { isObject } from '../lib/json.ts'
import type { ConfigFile } from './config-file.ts'
import type { EnvironmentSettings, SourcedValue } from './environment.ts'
import type { Problem } from './problems.ts'
import { isSamePath, type Path, pathText, startsWith } from './settings.ts'

/** The merged values of all sources, and where each value came from. */
export type Sources = { input: Record<string, unknown>; entries: readonly SourcedValue[]; file: ConfigFile }

/** Later entries take precedence over earlier ones, and all of them over the file. */
export function mergeSources(
  file: ConfigFile,
  given: readonly SourcedValue[],
  providers: EnvironmentSettings['providers'],
): Sources {
  const input = structuredClone(file.value)
  const entries: SourcedValue[] = []
  for (const entry of given) {
    if (put(input, entry.path, structuredClone(entry.value))) entries.unshift(entry)
  }
  entries.push(...addProviders(input, providers, entries))
  return { input, entries, file }
}

/** `flag`, `environment NAME`, `file:line` or `default`. */
export function originOf(path: Path, { input, entries, file }: Sources): string {
  if (valueAt(input, path) === undefined) return 'default'
  const entry = entryFor(path, entries)
  return entry?.origin ?? file.positionOf(path, 'key')?.where.replace(/:\d+$/, '') ?? 'default'
}

/** Says where a problem is. Returns nothing if the file couldn't be read, because it may contain the right value. */
export function locate(path: Path, message: string, part: 'key' | 'value', sources: Sources): Problem[] {
  const entry = entryFor(path, sources.entries)
  if (entry && isSamePath(entry.path, path)) return [{ text: `${headOf(entry)}: ${message}` }]
  const text = `${pathText(path)}: ${message}`
  if (entry) return [{ text: `${headOf(entry)}: ${text}` }]
  if (!sources.file.readable) return []
  const position = sources.file.positionOf(path, part)
  if (position) return [{ text: `${position.where}: ${text}`, line: position.line, column: position.column }]
  const neighbour = sources.entries.find((other) => startsWith(other.path, path.slice(0, -1)))
  return [{ text: neighbour ? `${headOf(neighbour)}: ${text}` : text }]
}

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((parent, key) => {
    if (typeof parent !== 'object' || parent === null || !Object.hasOwn(parent, key)) return undefined
    return (parent as Record<string | number, unknown>)[key]
  }, value)
}

/** The longest entry that covers the path. A provider's key may have another source than the list of providers. */
function entryFor(path: Path, entries: readonly SourcedValue[]): SourcedValue | undefined {
  const covering = entries.filter((entry) => startsWith(path, entry.path))
  const longest = Math.max(...covering.map((entry) => entry.path.length))
  return covering.find((entry) => entry.path.length === longest)
}

const headOf = ({ origin, path }: SourcedValue) => (origin === 'flag' ? `flag ${pathText(path)}` : origin)

/** Returns false if a parent isn't an object. The parent is left unchanged, so its own problem is reported. */
function put(input: Record<string, unknown>, path: Path, value: unknown): boolean {
  const [key, ...rest] = path
  if (key === undefined) return false
  if (rest.length === 0) {
    input[key] = value
    return true
  }
  input[key] ??= {}
  const child = input[key]
  return isObject(child) && put(child, rest, value)
}

function addProviders(
  input: Record<string, unknown>,
  variables: EnvironmentSettings['providers'],
  entries: readonly SourcedValue[],
): SourcedValue[] {
  if (variables.length === 0) return []
  input.providers ??= []
  const list = input.providers
  if (!Array.isArray(list)) return []
  // The environment takes precedence over the file. If the whole list was set by a variable or a flag, that takes
  // precedence over these variables.
  const isFromFile = entryFor(['providers'], entries) === undefined
  return variables.flatMap(({ name, field, value, origin }): SourcedValue[] => {
    const known = list.findIndex((provider) => valueAt(provider, ['name']) === name)
    const index = known < 0 ? list.push({ name, type: name }) - 1 : known
    const provider = list[index] as Record<string, unknown>
    if (!isFromFile && provider[field] !== undefined) return []
    provider[field] = value
    const entry: SourcedValue = { path: ['providers', index, field], value, origin }
    return known < 0 ? [entry, { path: ['providers', index], value: provider, origin }] : [entry]
  })
}
