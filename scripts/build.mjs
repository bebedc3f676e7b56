// Makes `dist`, the JavaScript of the published package: Node strips no types inside node_modules.
import { spawnSync } from 'node:child_process'
import { constants, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildConsoleIfStale } from './console-build.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')
mkdirSync(dist, { recursive: true })
// A service that runs from the sources serves dist/console meanwhile.
for (const name of readdirSync(dist)) {
  if (name !== 'console') rmSync(join(dist, name), { recursive: true, force: true })
}

const { status, error } = spawnSync(
  process.execPath,
  // Types are checked by `npm run check`.
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json', '--noCheck'],
  {
    cwd: root,
    stdio: 'inherit',
  },
)
if (error) throw error
if (status !== 0) process.exit(status ?? 1)

for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
  if (name.endsWith('.js')) nameBuiltFiles(join(dist, name))
}
for (const { name, parentPath } of readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })) {
  const file = relative(root, join(parentPath, name))
  // Copies styles and similar files. The build stops if one would replace a built file.
  if (extname(name) && !name.endsWith('.ts')) copyFileSync(join(root, file), join(dist, file), constants.COPYFILE_EXCL)
}

await buildConsoleIfStale(root)

/** The compiler renames imported files, but not the files that worker threads start from. */
function nameBuiltFiles(file) {
  const code = readFileSync(file, 'utf8')
  const built = code.replace(/(new URL\(['"]\.[^'"]+)\.ts(['"], import\.meta\.url\))/g, '$1.js$2')
  if (built !== code) writeFileSync(file, built)
}
