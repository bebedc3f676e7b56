import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files that name the version of package.json. */
export const VERSIONED = [
  'sdk/package.json',
  'python/pyproject.toml',
  'python/moorage/_version.py',
  'deploy/Dockerfile',
  'deploy/compose.yaml',
  'deploy/helm/moorage/Chart.yaml',
  'deploy/kubernetes/moorage.yaml',
  'docs/deploy.md',
  'docs/python.md',
  'docs/quick-start.md',
  'docs/remote-frameworks.md',
  'docs/sdk.md',
]

export function versionOf(root: string): string {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version
}

/** Writes another version in place of one in all these files. */
export function replaceVersion(root: string, from: string, to: string): void {
  for (const file of VERSIONED) {
    const text = readFileSync(join(root, file), 'utf8')
    writeFileSync(join(root, file), text.replaceAll(pattern(from), to))
  }
}

/** The files among them that do not name a version. */
export function withoutVersion(root: string, version: string): string[] {
  return VERSIONED.filter((file) => !pattern(version).test(readFileSync(join(root, file), 'utf8')))
}

function pattern(version: string): RegExp {
  return new RegExp(`(?<![\\d.])${version.replaceAll('.', '\\.')}(?![\\d]|\\.\\d)`, 'g')
}
