import { basename, dirname } from 'node:path'
import type { SourceFile } from './imports.ts'

/** File names that can occur in several rooms, and why. */
const SHARED_FILE_NAMES: Record<string, string> = {
  'main.ts': 'the entry points of the service and of the command line',
  'store.ts': 'each slice has one, with all the SQL of its tables',
}

export const MOST_FILES = 14

/** Files whose name also occurs in another room. */
export function repeatedFileNames(files: readonly string[]): string[] {
  return repeated(files.map((file) => [basename(file), file])).filter((found) => {
    const [name = ''] = found.split(':')
    return !(name in SHARED_FILE_NAMES)
  })
}

/** Rooms with too many files, not counting files in rooms inside them. */
export function crowdedRooms(files: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  return [...counts].filter(([, count]) => count > MOST_FILES).map(([room]) => room)
}

const EXPORTED = /^export (?:declare )?(?:abstract )?(?:type|interface|class|const) ([A-Z]\w*[a-z]\w*)\b/gm

/** Types and shapes that two files export under the same name. A shape and its type in one file count as one. */
export function repeatedTypes(sources: readonly Pick<SourceFile, 'file' | 'text'>[]): string[] {
  return repeated(
    sources.flatMap(({ file, text }) => {
      const names = new Set(Array.from(text.matchAll(EXPORTED), ([, name = '']) => name))
      return [...names].map((name): [string, string] => [name, file])
    }),
  )
}

function repeated(named: [name: string, file: string][]): string[] {
  const files = Map.groupBy(named, ([name]) => name)
  return [...files]
    .filter(([, found]) => found.length > 1)
    .map(([name, found]) => `${name}: ${found.map(([, file]) => file).join(', ')}`)
}
