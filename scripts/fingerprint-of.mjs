import { hash } from 'node:crypto'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** A text that is another one when a file with such a path was changed, added or removed. */
export function fingerprintOf(root, patterns) {
  const files = globSync(patterns, { cwd: root }).toSorted()
  const lines = files.map((file) => {
    const { size, mtimeMs } = statSync(join(root, file))
    return `${file} ${size} ${mtimeMs}`
  })
  return hash('sha256', lines.join('\n'))
}
