// Makes dist/console of console/. Every start comes through here, and builds only if a source has changed.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundledLicenses } from './bundled-licenses.mjs'
import { fingerprintOf } from './fingerprint-of.mjs'

const SCRIPTS = ['scripts/console-build.mjs', 'scripts/bundled-licenses.mjs']
const SOURCES = ['console', 'sdk', 'gallery', 'package-lock.json', ...SCRIPTS]

/** Builds the console, unless it is built of the sources as they are now. */
export async function buildConsoleIfStale(root) {
  const sources = fingerprintOf(root, SOURCES)
  const record = join(root, 'dist/console/built-of.txt')
  if (!existsSync(record) || readFileSync(record, 'utf8') !== sources) await buildConsole(root, sources)
}

async function buildConsole(root, sources) {
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
  writeFileSync(join(fresh, 'LICENSES.txt'), bundledLicenses(root, metafile))
  writeFileSync(join(fresh, 'built-of.txt'), sources)
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
