// Most of what a start of the service costs is the search for its many modules. Tests start it some two hundred times:
// they run the same code in a few files, made when the sources have changed.
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = join(import.meta.dirname, '../..')
const FOLDER = join(ROOT, 'node_modules/.cache/bundled')
const STAMP = join(FOLDER, 'made')
const SOURCES = ['src', 'sdk', 'package-lock.json', 'test/support/bundled.ts']
/** The packages with most files that every start loads. They are modules as ours are, and need no other package. */
const INSIDE = new Set(['kysely', 'zod', 'commander'])

/** The program that an entry point of the sources is, in few files. */
export async function bundled(entry: 'src/main.ts' | 'src/cli/main.ts'): Promise<string> {
  const made = statSync(STAMP, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (made < newest(SOURCES.map((name) => join(ROOT, name)))) await bundle()
  return join(FOLDER, entry.replace(/\.ts$/, '.mjs'))
}

async function bundle(): Promise<void> {
  const started = new Date()
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/main.ts', 'src/cli/main.ts'],
    outbase: '.',
    outdir: FOLDER,
    outExtension: { '.js': '.mjs' },
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    plugins: [otherPackages, ownPlaces],
    logLevel: 'error',
  })
  for (const { path, contents } of outputFiles) replace(path, contents)
  replace(STAMP, Buffer.of())
  utimesSync(STAMP, started, started)
}

/** Other packages stay as they are: some are CommonJS, and would not be what Node makes of them. */
const otherPackages: Plugin = {
  name: 'other packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'entry-point' || INSIDE.has(path) ? undefined : { path, external: true },
    )
  },
}

/** A source goes on knowing where it stands: it finds its workers, its assets and its packages from there. */
const ownPlaces: Plugin = {
  name: 'own places',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const places = { url: pathToFileURL(path).href, filename: path, dirname: dirname(path) }
      const code = readFileSync(path, 'utf8')
      const contents = code.replaceAll(/import\.meta\.(url|filename|dirname)\b/g, (_, name: keyof typeof places) =>
        JSON.stringify(places[name]),
      )
      return { contents, loader: 'ts' }
    })
  },
}

/** Several runs of tests may do this at the same time, and a service may just read the file. */
function replace(path: string, contents: Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true })
  const draft = join(dirname(path), `.${basename(path)}-${process.pid}`)
  writeFileSync(draft, contents)
  renameSync(draft, path)
}

/** When the latest of these, and of all that is in them, was changed. */
function newest(paths: string[]): number {
  let latest = 0
  for (const path of paths) {
    const stat = statSync(path)
    latest = Math.max(latest, stat.mtimeMs)
    if (stat.isDirectory()) latest = Math.max(latest, newest(readdirSync(path).map((name) => join(path, name))))
  }
  return latest
}
