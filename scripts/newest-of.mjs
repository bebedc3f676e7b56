import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** When the latest of the files that have such a path was changed. */
export function newestOf(root, patterns) {
  let latest = 0
  for (const file of globSync(patterns, { cwd: root })) latest = Math.max(latest, statSync(join(root, file)).mtimeMs)
  return latest
}
