import { readdirSync, statSync } from 'node:fs'

const INTERVAL_MS = 500

/**
 * Calls back after a change to any of the files, or to a file directly in one of the folders. It checks twice a second.
 * Unlike the system's notifications, that works on every file system and through the symbolic links of mounted secrets.
 */
export function watchFiles(paths: readonly string[], onChange: () => void): () => void {
  if (paths.length === 0) return () => {}
  let seen = stateOf(paths)
  const timer = setInterval(() => {
    const current = stateOf(paths)
    if (current === seen) return
    seen = current
    onChange()
  }, INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

function stateOf(paths: readonly string[]): string {
  return paths.map((path) => [path, ...entries(path)].map(state).join()).join('\n')
}

function entries(path: string): string[] {
  try {
    return readdirSync(path).map((name) => `${path}/${name}`)
  } catch {
    return []
  }
}

function state(path: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(path)
    return `${path} ${ino} ${size} ${mtimeMs}`
  } catch {
    return `${path} absent`
  }
}
