import { chmodSync, mkdirSync } from 'node:fs'

/** Makes a folder that only its owner may enter, or restricts an existing one. Returns its path. */
export function privateFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
  return path
}
