/**
 * Checks packages that aren't installed with the service because few services need them. If a needed one is missing,
 * the service doesn't start, instead of failing later.
 */
export function requireInstalled(setting: string, packages: Record<string, string>): void {
  try {
    for (const name of Object.keys(packages)) import.meta.resolve(name)
  } catch (cause) {
    const names = Object.entries(packages).map(([name, version]) => `${name}@${version}`)
    const where = 'where to: docs/deploy.md, Optional packages'
    throw new Error(`${setting}, but its packages are not installed: npm install ${names.join(' ')} (${where})`, {
      cause,
    })
  }
}
