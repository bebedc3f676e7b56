import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * What the licences of packages that are built in ask for: their texts. A line `== name@version · license` begins each, and
 * scripts/release/sbom.ts reads it. `metafile` is esbuild's record of a build.
 */
export function bundledLicenses(root, { outputs }) {
  const inputs = Object.values(outputs).flatMap((output) => Object.keys(output.inputs))
  const folders = inputs.flatMap((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? [])
  return [...new Set(folders)]
    .toSorted()
    .map((folder) => licenseOf(join(root, folder)))
    .join('\n')
}

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((one) => /^(licen[cs]e|copying)/i.test(one))
  const text = file ? readFileSync(join(folder, file), 'utf8').trim() : ''
  return `== ${name}@${version} · ${license}\n\n${text}\n`
}
