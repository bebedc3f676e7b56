// npm run console:build: makes dist/console of console/. Every start comes through here too, and builds only what is not
// built yet or has changed.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { newestOf } from './newest-of.mjs'

const SOURCES = ['console/**/*.*', 'sdk/*.ts', 'package-lock.json', 'scripts/console-build.mjs']

/** Builds the console, unless what is built is newer than every source. */
export async function buildConsoleIfStale(root) {
  const built = statSync(join(root, 'dist/console/index.html'), { throwIfNoEntry: false })
  if (!built || built.mtimeMs < newestOf(root, SOURCES)) await buildConsole(root)
}

export async function buildConsole(root) {
  const { build, stop } = await import('esbuild')
  const fresh = join(root, 'dist', `.console-${process.pid}`)
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['console/main.tsx', 'console/console.css', 'console/icon.svg'],
    outdir: join(fresh, 'assets'),
    outbase: 'console',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    loader: { '.svg': 'copy' },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: ['es2023', 'chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    metafile: true,
    logLevel: 'error',
    // Otherwise its process would stay as long as the service that begins here.
  }).finally(stop)
  mkdirSync(fresh, { recursive: true })
  writeFileSync(join(fresh, 'index.html'), page(readFileSync(join(root, 'console/index.html'), 'utf8'), metafile))
  replace(join(root, 'dist/console'), fresh)
}

/** The page names the built files, and those that its script loads at once: the browser asks for all of them together. */
function page(template, { outputs }) {
  const urlOf = (file) => `./console/assets/${file.slice(file.lastIndexOf('/') + 1)}`
  const outputOf = (source) => Object.keys(outputs).find((file) => outputs[file].entryPoint === source)
  const script = outputOf('console/main.tsx')
  const loaded = outputs[script].imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path)
  return template
    .replace('./icon.svg', urlOf(outputOf('console/icon.svg')))
    .replace('./console.css', urlOf(outputOf('console/console.css')))
    .replace('./main.tsx', urlOf(script))
    .replace('</head>', () => [...loaded.map(preload), '</head>'].join('\n'))

  function preload(file) {
    return `<link rel="modulepreload" href="${urlOf(file)}">`
  }
}

/** Two processes may build at the same time: the folder is put in place by a rename. */
function replace(target, fresh) {
  const old = `${fresh}-old`
  if (existsSync(target)) renameSync(target, old)
  try {
    renameSync(fresh, target)
  } catch (error) {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    rmSync(fresh, { recursive: true, force: true })
  }
  rmSync(old, { recursive: true, force: true })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(import.meta.dirname)
  const started = performance.now()
  await buildConsole(root)
  const took = Math.round(performance.now() - started)
  console.log(`${relative(root, join(root, 'dist/console'))} in ${took} ms`)
}
