// Makes dist/service: the service and the command line as JavaScript in few files. Of a start from the sources, more
// than half is the search for some 900 modules. Every start comes through here, and builds only if a source has changed.
import { copyFileSync, globSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { bundledLicenses } from './bundled-licenses.mjs'
import { fingerprintOf } from './fingerprint-of.mjs'
import { removeOthers } from './remove-others.mjs'

/** Styles, statements of migrations and similar files, which the service reads. */
const ASSETS = 'src/**/*.{css,js,bin,sql,txt}'
const SOURCES = [
  'src',
  'sdk',
  'gallery',
  'package.json',
  'package-lock.json',
  'scripts/service-build.mjs',
  'scripts/bundled-licenses.mjs',
]
/** The packages with most files that every start loads. They are modules as ours are, and need no other package. */
const INSIDE = new Set(['kysely', 'zod', 'commander'])
/** Says of which sources the service was built, and which files that made. */
const RECORD = 'built.json'

/** Builds the service, unless it is built of the sources as they are now. */
export async function buildServiceIfStale(root) {
  const folder = join(root, 'dist/service')
  const sources = fingerprintOf(root, SOURCES)
  const last = lastBuild(folder)
  if (last.sources === sources) return
  if (process.stderr.isTTY) console.error('Building …')
  const files = await buildService(root, folder)
  put(join(folder, RECORD), (draft) => writeFileSync(draft, JSON.stringify({ sources, files })))
  // A service that runs may still load files of the build before.
  removeOthers(folder, [RECORD, ...files, ...last.files])
}

/** Removes what is left of earlier builds. */
export function removeOldBuilds(root) {
  const folder = join(root, 'dist/service')
  removeOthers(folder, [RECORD, ...lastBuild(folder).files])
}

function lastBuild(folder) {
  try {
    const { sources, files } = JSON.parse(readFileSync(join(folder, RECORD), 'utf8'))
    return { sources, files }
  } catch {
    // There is none.
    return { sources: undefined, files: [] }
  }
}

/** All files are in one folder: a path beside a source is a path beside the built file, whichever that is. Returns their names. */
async function buildService(root, folder) {
  const { build, stop } = await import('esbuild')
  const workers = globSync('src/**/*-worker.ts', { cwd: root })
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: 'src/main.ts', out: 'main' },
      { in: 'src/cli/main.ts', out: 'cli' },
      ...workers.map((file) => ({ in: file, out: basename(file, '.ts') })),
    ],
    outdir: folder,
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24.12',
    plugins: [otherPackages, builtWorkers],
    // For stack traces.
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    logLevel: 'error',
    // Otherwise its process would stay as long as the service that begins here.
  }).finally(stop)
  mkdirSync(folder, { recursive: true })
  const assets = globSync(ASSETS, { cwd: root })
  const names = [...outputFiles.map(({ path }) => path), ...assets, 'LICENSES.txt'].map((file) => basename(file))
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice) throw new Error(`Two sources would be built into the same file: ${twice}`)
  for (const { path, contents } of outputFiles) put(path, (draft) => writeFileSync(draft, contents))
  for (const file of assets) put(join(folder, basename(file)), (draft) => copyFileSync(join(root, file), draft))
  put(join(folder, 'LICENSES.txt'), (draft) => writeFileSync(draft, bundledLicenses(root, metafile)))
  return names
}

/** Other packages stay as they are: some are CommonJS, and would not be what Node makes of them. */
const otherPackages = {
  name: 'other packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || INSIDE.has(path) ? undefined : { path, external: true },
    )
  },
}

/** Worker threads start from a file that the code names. */
const builtWorkers = {
  name: 'built workers',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const code = readFileSync(path, 'utf8')
      const contents = code.replaceAll(/(new URL\('\.\/[\w-]+-worker)\.ts(', import\.meta\.url\))/g, '$1.js$2')
      return { contents, loader: 'ts' }
    })
  },
}

/** Several processes may build at the same time, and another may just read the file. */
function put(path, write) {
  const draft = join(dirname(path), `../.draft-${process.pid}`)
  write(draft)
  renameSync(draft, path)
}
