// npm run build: makes `dist`, the JavaScript of the service, the command line and the console. The published package has
// nothing else, because Node strips no types inside node_modules.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildConsoleIfStale } from './console-build.mjs'
import { removeOthers } from './remove-others.mjs'
import { buildServiceIfStale, removeOldBuilds } from './service-build.mjs'

const root = dirname(import.meta.dirname)
await buildServiceIfStale(root)
await buildConsoleIfStale(root)
// Before the package is packed. Otherwise a service that runs may still load what an earlier build has made.
if (process.argv.includes('--alone')) {
  removeOldBuilds(root)
  removeOthers(join(root, 'dist'), ['service', 'console'])
}
// A package and an image have no git. Where an image is built there is none either, so the commit is given there.
writeFileSync(join(root, 'dist/service/commit.txt'), `${process.env.MOORAGE_COMMIT || headOf(root)}\n`)

function headOf(folder) {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim()
  } catch {
    console.error(
      'The commit is unknown, because Git is not available here. Set MOORAGE_COMMIT to include it in the build.',
    )
    return ''
  }
}
