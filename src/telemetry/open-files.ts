import { readFileSync } from 'node:fs'

/** How many file handles this process may have. Undefined on systems other than Linux, which don't report it. */
export function mostOpenFiles(): number | undefined {
  try {
    const [, most] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return most === undefined ? undefined : Number(most)
  } catch {
    return undefined
  }
}
