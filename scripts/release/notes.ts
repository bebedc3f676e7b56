import type { Facts } from './build-release.ts'

/** Links to pages that a release doesn't contain. */
const LINKS_AT_END = /( · | )\[[^\]]+\]\((?!https?:)[^)]+\)(?=( · \[.*)?$)/gm

/**
 * The notes of a version: its part of CHANGELOG.md, and what the release consists of. Links lead to the repository if its
 * address is known (MOORAGE_REPOSITORY). If not, those at the end of a line are left out, and others are plain text.
 */
export function notesOf(changelog: string, { version, commit, repository }: Facts): string {
  const start = changelog.search(new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b`, 'm'))
  if (start < 0) throw new Error(`CHANGELOG.md has no section for ${version}`)
  const [heading = '', ...lines] = changelog.slice(start).split('\n')
  const end = lines.findIndex((line) => line.startsWith('## '))
  const body = (end < 0 ? lines : lines.slice(0, end)).join('\n').trim()
  const text = repository ? body : body.replaceAll(LINKS_AT_END, '')
  const linked = text.replaceAll(/\[([^\]]+)\]\((?!https?:)([^)]+)\)/g, (_, shown: string, path: string) =>
    repository ? `[${shown}](${repository}/blob/v${version}/${path})` : shown,
  )
  return `# Moorage${heading.slice('##'.length)}

${linked}

## Files

| File | Install it with |
|---|---|
| \`moorage-${version}.tgz\` | \`npm install ./moorage-${version}.tgz\`, then \`npx moorage start\`: the service, the command line and the console |
| \`moorage-sdk-${version}.tgz\` | \`npm install ./moorage-sdk-${version}.tgz\`: the TypeScript SDK |
| \`moorage-${version}-py3-none-any.whl\`, \`moorage-${version}.tar.gz\` | \`pip install ./moorage-${version}-py3-none-any.whl\`: the Python package |
| \`moorage-chart-${version}.tgz\` | \`helm install moorage moorage-chart-${version}.tgz\` |
| \`moorage-image-${version}.tar.gz\` | \`docker build -f deploy/Dockerfile - < moorage-image-${version}.tar.gz\`: what the image is built from |
| \`moorage-${version}.cdx.json\` | The software bill of materials (CycloneDX) |
| \`SHA256SUMS\` | \`sha256sum --check SHA256SUMS\` |

Built from commit \`${commit}\`.
`
}
