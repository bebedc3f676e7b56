import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs'

/** Makes a folder that only its owner can enter, or restricts an existing one. Returns its path. */
export function privateFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
  return path
}

/** Makes the empty file of a store that only its owner can read, or restricts an existing one. Returns its path. */
export function privateStore(path: string): string {
  // An existing file isn't opened here: when a process closes it, SQLite's locks on it are gone.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  // SQLite creates the files beside it with the store's mode. Those of an earlier process may have another one.
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600)
  return path
}
