import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

/** A `type` import is gone when the program runs. A `dynamic` one is loaded only when it is needed. */
export type Import = { to: string; kind: 'value' | 'type' | 'dynamic' }

export type SourceFile = { file: string; text: string; imports: Import[] }

/**
 * All TypeScript files in a folder. Imports of each other are given by their paths in it, and all others by their
 * names.
 */
export function readSources(folder: string): SourceFile[] {
  return filesOf(folder, ['.ts', '.tsx']).map(({ file, text }) => {
    const imports = readImports(text).map(({ to, kind }) => ({
      to: to.startsWith('.') ? relative(folder, normalize(join(folder, dirname(file), to))) : to,
      kind,
    }))
    return { file, text, imports }
  })
}

/** All files in a folder whose names have one of these endings. */
export function filesOf(folder: string, endings: readonly string[]): Pick<SourceFile, 'file' | 'text'>[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => endings.some((ending) => file.endsWith(ending)))
    .map((file) => ({ file, text: readFileSync(join(folder, file), 'utf8') }))
}

const STATIC = /^(?:import|export)\b((?:(?!^(?:import|export)\b)[^'"`;])*?)from\s*['"]([^'"]+)['"]/gm
const BARE = /^import\s*['"]([^'"]+)['"]/gm
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g
/** A worker's file is named by a URL. */
const URL_OF = /new URL\(\s*['"](\.[^'"]+\.tsx?)['"]\s*,\s*import\.meta\.url\s*\)/g

export function readImports(text: string): Import[] {
  const found: Import[] = []
  for (const [, clause = '', to = ''] of text.matchAll(STATIC)) found.push({ to, kind: kindOf(clause) })
  for (const [, to = ''] of text.matchAll(BARE)) found.push({ to, kind: 'value' })
  for (const [, to = ''] of text.matchAll(DYNAMIC)) found.push({ to, kind: 'dynamic' })
  for (const [, to = ''] of text.matchAll(URL_OF)) found.push({ to, kind: 'dynamic' })
  return found
}

function kindOf(clause: string): Import['kind'] {
  if (/^\s*type\b/.test(clause)) return 'type'
  const named = /^\s*\{([^}]*)\}\s*$/.exec(clause)?.[1]
  const names = named?.split(',').filter((name) => name.trim() !== '') ?? []
  return names.length > 0 && names.every((name) => /^\s*type\s/.test(name)) ? 'type' : 'value'
}

/** Everything that is loaded, directly or not, with `start`. Dynamic imports aren't followed. */
export function loadedBy(start: string, sources: readonly SourceFile[]): Set<string> {
  const byFile = new Map(sources.map((source) => [source.file, source]))
  const loaded = new Set([start])
  for (const file of loaded) {
    for (const { to, kind } of byFile.get(file)?.imports ?? []) if (kind === 'value') loaded.add(to)
  }
  return loaded
}

/** Files that import each other in a cycle, types included. Each cycle is reported once, as a path. */
export function cyclesOf(sources: readonly SourceFile[]): string[] {
  const byFile = new Map(sources.map((source) => [source.file, source]))
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: string[]) => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (done.has(file) || path.includes(file)) return
    for (const { to, kind } of byFile.get(file)?.imports ?? []) if (kind !== 'dynamic') visit(to, [...path, file])
    done.add(file)
  }
  for (const { file } of sources) visit(file, [])
  return cycles
}
