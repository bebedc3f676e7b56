// Makes `dist`, the JavaScript of the service, the command line and the console. The published package has nothing else:
// Node strips no types inside node_modules.
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsoleIfStale } from './console-build.mjs'
import { buildServiceIfStale } from './service-build.mjs'

/** Builds what is not built yet, and what has changed. */
export async function buildIfStale(root) {
  await buildServiceIfStale(root)
  await buildConsoleIfStale(root)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildIfStale(dirname(import.meta.dirname))
