import { hash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'

/**
 * A text that is another one when one of these files, or one in these folders, was changed, added or removed. Every start
 * asks for it.
 */
export function fingerprintOf(root, paths) {
  const lines = paths
    .flatMap((path) => filesOf(root, path))
    .map((file) => {
      const { size, mtimeMs } = statSync(join(root, file))
      return `${file} ${size} ${mtimeMs}`
    })
  return hash('sha256', lines.toSorted().join('\n'))
}

/** Sources have an extension, and are in no folder named `dist`. */
function filesOf(root, path) {
  const found = statSync(join(root, path), { throwIfNoEntry: false })
  if (!found?.isDirectory()) return found ? [path] : []
  const entries = readdirSync(join(root, path), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && extname(entry.name) !== '')
  return files
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
    .filter((file) => !file.split(sep).includes('dist'))
}
