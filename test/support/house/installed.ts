import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from './docs.ts'

type Package = { dev?: true; optional?: true; devOptional?: true; peer?: true }

/**
 * Installs the packages that the service needs to run in another folder, from what this checkout has installed. So tests
 * need no registry, no cache of npm and none of the machine's settings for it, and npm takes them for its own.
 */
export function copyInstalled(folder: string): void {
  const root = fileURLToPath(ROOT)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Package>
  }
  for (const [path, { dev, optional, devOptional, peer }] of Object.entries(lock.packages)) {
    // The copy of a package contains the packages that are nested in it.
    const isNested = path.lastIndexOf('node_modules/') > 0
    if (path === '' || isNested || dev || optional || devOptional || peer) continue
    cpSync(join(root, path), join(folder, path), { recursive: true })
  }
  // npm installs a package again if one of its commands is missing.
  cpSync(join(root, 'node_modules/.bin'), join(folder, 'node_modules/.bin'), {
    recursive: true,
    verbatimSymlinks: true,
  })
  const there = Object.entries(lock.packages).filter(([path]) => path !== '' && existsSync(join(folder, path)))
  const record = { ...lock, packages: Object.fromEntries(there) }
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify(record))
}
