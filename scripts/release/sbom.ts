import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Facts } from './build-release.ts'

/** A package in package-lock.json. */
type Locked = {
  version: string
  license?: string
  integrity: string
  optional?: boolean
  dev?: boolean
  devOptional?: boolean
  peer?: boolean
}

type License = { expression: string } | { license: { id: string } }

type Component = {
  type: string
  'bom-ref': string
  name: string
  version: string
  scope?: string
  hashes?: { alg: string; content: string }[]
  licenses: License[]
  purl: string
  properties?: { name: string; value: string }[]
}

export type Sbom = { serialNumber: string; components: Component[]; [field: string]: unknown }

const LICENSES = ['dist/service/LICENSES.txt', 'dist/console/LICENSES.txt']

/**
 * A CycloneDX document that names every package which a release ships: those that the npm package and the image install,
 * and those that are built into the service and the console. It is made from package-lock.json and from the licences
 * beside what was built, because `npm sbom` leaves out what is a development dependency of another package as well.
 */
export function sbomOf(root: string, { version, commit, epoch }: Facts): Sbom {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const packages: Record<string, Locked> = lock.packages
  const bundled = new Set(LICENSES.flatMap((file) => bundledIn(readFileSync(join(root, file), 'utf8'))))
  const components = new Map<string, Component>()
  for (const [path, about] of Object.entries(packages)) {
    if (path === '') continue
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const isBundled = bundled.has(`${name}@${about.version}`)
    if (!isInstalled(about) && !isBundled) continue
    components.set(purlOf('npm', name, about.version), component(name, about, isBundled))
  }
  for (const name of bundled) {
    const at = name.lastIndexOf('@')
    if (!components.has(purlOf('npm', name.slice(0, at), name.slice(at + 1)))) {
      throw new Error(`${name} is bundled, but package-lock.json doesn't contain it`)
    }
  }
  const ownNames = [
    ['npm', 'moorage-sdk'],
    ['pypi', 'moorage'],
  ] as const
  const own: Component[] = ownNames.map(([kind, name]) => {
    const purl = purlOf(kind, name, version)
    return { type: 'library', 'bom-ref': purl, name, version, licenses: licensesOf('Apache-2.0'), purl }
  })
  const purl = purlOf('npm', 'moorage', version)
  const all = [...own, ...components.values()].toSorted((a, b) => (a.purl < b.purl ? -1 : 1))
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(`moorage ${version} ${commit}`)}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': purl,
        name: 'moorage',
        version,
        licenses: licensesOf('Apache-2.0'),
        purl,
        properties: [{ name: 'moorage:commit', value: commit }],
      },
    },
    components: all,
    dependencies: [
      { ref: purl, dependsOn: [...components.keys()].toSorted() },
      ...own.map((one) => ({ ref: one.purl, dependsOn: [] })),
    ],
  }
}

/** Optional peers are development dependencies here, and nobody else gets them. */
function isInstalled({ dev, devOptional, peer }: Locked): boolean {
  return !dev && !devOptional && !peer
}

/** The packages in a file of scripts/bundled-licenses.mjs. */
export function bundledIn(text: string): string[] {
  return [...text.matchAll(/^== (\S+) · /gm)].map(([, name = '']) => name)
}

function component(name: string, { version, license, integrity, optional }: Locked, isBundled: boolean): Component {
  const purl = purlOf('npm', name, version)
  const [algorithm = '', digest = ''] = integrity.split('-')
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    scope: optional && !isBundled ? 'optional' : 'required',
    hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') }],
    licenses: licensesOf(license),
    purl,
    ...(isBundled && { properties: [{ name: 'moorage:bundled', value: 'true' }] }),
  }
}

function licensesOf(license: string | undefined): License[] {
  if (!license) return []
  return /\s/.test(license) ? [{ expression: license.replace(/^\((.*)\)$/, '$1') }] : [{ license: { id: license } }]
}

function purlOf(kind: string, name: string, version: string): string {
  return `pkg:${kind}/${name.replace('@', '%40')}@${version}`
}

function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
