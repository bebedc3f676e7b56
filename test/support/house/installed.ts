import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from './docs.ts'

type Package = { dev?: true; optional?: true; devOptional?: true; peer?: true }

/**
 * Copies the packages that the service needs from this checkout to another folder. So tests need no registry, no npm
 * cache and none of the machine's npm settings, and npm treats the packages as its own.
 */
export function copyInstalled(folder: string): void {
  const root = fileURLToPath(ROOT)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Package>
  }
  for (const [path, { dev, optional, devOptional, peer }] of Object.entries(lock.packages)) {
    // The copy of a package includes the packages that are nested in it.
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
