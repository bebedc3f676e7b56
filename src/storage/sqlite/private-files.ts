import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs'

/** Creates a folder that only its owner can enter, or restricts an existing one. Returns its path. */
export function privateFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
  return path
}

/** Creates the empty file of a store that only its owner can read, or restricts an existing one. Returns its path. */
export function privateStore(path: string): string {
  // An existing file isn't opened here, because when a process closes it, SQLite loses its locks on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  // SQLite creates the files beside the store with the store's mode. An earlier process may have left them with another
  // mode.
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600)
  return path
}
