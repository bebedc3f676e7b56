import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Removes everything from the folder that is not named. */
export function removeOthers(folder, names) {
  for (const name of readdirSync(folder)) {
    if (!names.includes(name)) rmSync(join(folder, name), { recursive: true, force: true })
  }
}
