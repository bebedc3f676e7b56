// Makes dist/console of console/. Every start comes through here, and builds only if a source has changed.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundledLicenses } from './bundled-licenses.mjs'
import { fingerprintOf } from './fingerprint-of.mjs'

const SCRIPTS = ['scripts/console-build.mjs', 'scripts/bundled-licenses.mjs']
const CONSOLE = ['console/main.tsx', 'console/console.css', 'console/icon.svg']
const CHAT = ['console/chat/shared-chat.tsx', 'console/chat/chat.css']
const SOURCES = ['console', 'sdk', 'gallery', 'package-lock.json', ...SCRIPTS]

/** Builds the console, unless it is built of the sources as they are now. */
export async function buildConsoleIfStale(root) {
  const sources = fingerprintOf(root, SOURCES)
  const record = join(root, 'dist/console/built-of.txt')
  if (!existsSync(record) || readFileSync(record, 'utf8') !== sources) await buildConsole(root, sources)
}

async function buildConsole(root, sources) {
  const { build } = await import('esbuild')
  const fresh = join(root, 'dist', `.console-${process.pid}`)
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [...CONSOLE, ...CHAT],
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
  })
  mkdirSync(fresh, { recursive: true })
  await buildWidget(root, fresh)
  const write = (file, template, entries, folder) =>
    writeFileSync(join(fresh, file), page(readFileSync(join(root, template), 'utf8'), metafile, entries, folder))
  write('index.html', 'console/index.html', CONSOLE, './console/assets/')
  write('chat.html', 'console/chat/chat.html', [...CHAT, 'console/icon.svg'], './assets/')
  writeFileSync(join(fresh, 'LICENSES.txt'), bundledLicenses(root, metafile))
  writeFileSync(join(fresh, 'built-of.txt'), sources)
  replace(join(root, 'dist/console'), fresh)
}

/** Other sites name the widget's script, so its name stays. It is one file without imports. */
async function buildWidget(root, fresh) {
  const { build, stop } = await import('esbuild')
  await build({
    absWorkingDir: root,
    entryPoints: ['console/chat/widget.ts'],
    outfile: join(fresh, 'widget.js'),
    bundle: true,
    minify: true,
    format: 'iife',
    target: ['es2020'],
    legalComments: 'none',
    logLevel: 'error',
    // Otherwise its process would stay as long as the service that begins here.
  }).finally(stop)
}

/** A page names its built files, and those that its script loads at once: the browser asks for all of them together. */
function page(template, { outputs }, entries, folder) {
  const urlOf = (file) => `${folder}${file.slice(file.lastIndexOf('/') + 1)}`
  const outputOf = (source) => Object.keys(outputs).find((file) => outputs[file].entryPoint === source)
  const script = outputOf(entries.find((entry) => entry.endsWith('.tsx')))
  const loaded = outputs[script].imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => path)
  return entries
    .reduce(
      (html, entry) => html.replace(`./${entry.slice(entry.lastIndexOf('/') + 1)}`, urlOf(outputOf(entry))),
      template,
    )
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
