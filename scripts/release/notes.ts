import type { Facts } from './build-release.ts'

/**
 * The notes of a version: its part of CHANGELOG.md, and what the release consists of. Links lead to the repository if its
 * address is known (MOORAGE_REPOSITORY), because a release has no folders beside it.
 */
export function notesOf(changelog: string, { version, commit, repository }: Facts): string {
  const start = changelog.search(new RegExp(`^## ${version.replaceAll('.', '\\.')}\\b`, 'm'))
  if (start < 0) throw new Error(`CHANGELOG.md has no section for ${version}`)
  const [heading = '', ...lines] = changelog.slice(start).split('\n')
  const end = lines.findIndex((line) => line.startsWith('## '))
  const body = (end < 0 ? lines : lines.slice(0, end)).join('\n').trim()
  const linked = body.replaceAll(/\[([^\]]+)\]\((?!https?:)([^)]+)\)/g, (_, text: string, path: string) =>
    repository ? `[${text}](${repository}/blob/v${version}/${path})` : text,
  )
  return `# Moorage${heading.slice('##'.length)}

${linked}

## Files

| File | Install it with |
|---|---|
| \`moorage-${version}.tgz\` | \`npm install moorage@${version}\`: the service, the command line and the console |
| \`moorage-sdk-${version}.tgz\` | \`npm install moorage-sdk@${version}\`: the TypeScript SDK |
| \`moorage-${version}-py3-none-any.whl\`, \`moorage-${version}.tar.gz\` | \`pip install moorage==${version}\`: the Python package |
| \`moorage-chart-${version}.tgz\` | \`helm install moorage moorage-chart-${version}.tgz\` |
| \`moorage-image-${version}.tar.gz\` | \`docker build -f deploy/Dockerfile - < moorage-image-${version}.tar.gz\`: what the image is built from |
| \`moorage-${version}.cdx.json\` | The software bill of materials (CycloneDX) |
| \`SHA256SUMS\` | \`sha256sum --check SHA256SUMS\` |

Built from commit \`${commit}\`.
`
}
