// npm run build: makes `dist`, the JavaScript of the service, the command line and the console. The published package has
// nothing else, because Node strips no types inside node_modules.
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
