// Makes dist/service: the service and the command line as JavaScript in few files. Of a start from the sources, more
// than half is the search for some 900 modules. Every start comes through here, and builds only if a source has changed.
import {
  copyFileSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, extname, join } from 'node:path'
import { newestOf } from './newest-of.mjs'

const SOURCES = ['src/**/*.*', 'sdk/*.ts', 'package-lock.json', 'scripts/service-build.mjs']
/** The packages with most files that every start loads. They are modules as ours are, and need no other package. */
const INSIDE = ['kysely', 'zod', 'commander']

/** Builds the service, unless what is built is newer than every source. */
export async function buildServiceIfStale(root) {
  const stamp = join(root, 'dist/service/built')
  const built = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (built >= newestOf(root, SOURCES)) return
  const started = new Date()
  await buildService(root)
  removeOlder(join(root, 'dist/service'), built)
  writeFileSync(stamp, '')
  utimesSync(stamp, started, started)
}

/** All files are in one folder: a path beside a source is a path beside the built file, whichever that is. */
async function buildService(root) {
  const folder = join(root, 'dist/service')
  const { build, stop } = await import('esbuild')
  const workers = globSync('src/**/*-worker.ts', { cwd: root })
  const { outputFiles } = await build({
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
    logLevel: 'error',
    // Otherwise its process would stay as long as the service that begins here.
  }).finally(stop)
  mkdirSync(folder, { recursive: true })
  for (const { path, contents } of outputFiles) put(path, (draft) => writeFileSync(draft, contents))
  const assets = globSync('src/**/*.*', { cwd: root }).filter((file) => extname(file) !== '.ts')
  for (const file of assets) put(join(folder, basename(file)), (draft) => copyFileSync(join(root, file), draft))
  put(join(folder, 'LICENSES.txt'), (draft) => writeFileSync(draft, licenses(root)))
}

/** Other packages stay as they are: some are CommonJS, and would not be what Node makes of them. */
const otherPackages = {
  name: 'other packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || INSIDE.includes(path) ? undefined : { path, external: true },
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
  const draft = `${path}-${process.pid}`
  write(draft)
  renameSync(draft, path)
}

/** Removes what is left of builds before the last one. What the last one made may be in use: a service may still load it. */
function removeOlder(folder, lastBuilt) {
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    const changed = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
    if (changed < lastBuilt) rmSync(file, { force: true })
  }
}

/** What the licences of the packages inside ask for. */
function licenses(root) {
  return INSIDE.map((name) => `${name}\n\n${readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8')}`).join(
    '\n',
  )
}
