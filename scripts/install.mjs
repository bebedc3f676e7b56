import { spawn } from 'node:child_process'
import {
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
import { delimiter, join } from 'node:path'

const BIN = join('node_modules', '.bin')

/** Installs what package-lock.json names, unless it is installed already. Returns what went wrong, or undefined. */
export async function install(root, { withDevelopment, isForThisPlatform = false }) {
  if (isInstalled(root, withDevelopment)) return undefined
  const modules = join(root, 'node_modules')
  // npm ci empties the folder first, even if it is a link to a folder that others use.
  if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink()) {
    console.error(
      `node_modules is a link to packages that don't match package-lock.json: install in ${realpathSync(modules)}`,
    )
    return undefined
  }
  const held = join(root, '.moorage-installing')
  await takeLock(held)
  let problem
  try {
    // Another process may have installed it meanwhile.
    if (!isInstalled(root, withDevelopment)) problem = await runNpm(root, isForThisPlatform)
  } finally {
    rmSync(held, { recursive: true, force: true })
  }
  // What is half installed is not what the lock file names, so the next start installs it again.
  if (problem?.stoppedBy) process.kill(process.pid, problem.stoppedBy)
  return problem
}

/** Compares with npm's own record of what is in node_modules. */
function isInstalled(root, withDevelopment) {
  const wanted = packagesOf(join(root, 'package-lock.json'))
  const found = packagesOf(join(root, 'node_modules', '.package-lock.json'))
  if (!wanted) return true
  return Object.entries(wanted).every(([path, { version, integrity, optional, dev, devOptional }]) => {
    const there = found?.[path]
    if (there) return there.version === version && there.integrity === integrity
    return path === '' || optional || devOptional || (dev && !withDevelopment)
  })
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** What npm says when there is no way to the registry. */
const NO_NETWORK =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT)\b/

/** A lock file that names the optional packages of some platforms only is refused by npm ci. */
async function runNpm(root, isForThisPlatform) {
  const command = isForThisPlatform ? ['install', '--no-save'] : ['ci']
  console.error(`Installing dependencies (npm ${command[0]}) …`)
  const { code, error, output, stoppedBy } = await runAlone(
    'npm',
    // With what builds the service and the console, also where NODE_ENV is production.
    [...command, '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'],
    root,
  )
  if (stoppedBy) return { stoppedBy }
  if (code === 0) return undefined
  const reason = NO_NETWORK.exec(output)?.[1]
  if (reason)
    return `Dependencies cannot be installed: npm cannot reach its registry (${reason}); connect this machine, or set npm's registry or proxy`
  return `${output}npm ${command[0]} failed (${error?.message ?? `exit code ${code}`})`
}

/**
 * Runs a command in a process group of its own and keeps what it prints. A signal ends the whole group at once: npm
 * itself would first finish what it has begun.
 */
async function runAlone(command, args, cwd) {
  const isWindows = process.platform === 'win32'
  // npm must not run on the Node that it is about to delete and install again.
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.endsWith(BIN))
  const env = { ...process.env, PATH: path.join(delimiter) }
  let output = ''
  let stoppedBy
  let child
  const stop = (signal) => {
    stoppedBy = signal
    if (isWindows) child.kill()
    else process.kill(-child.pid, 'SIGKILL')
  }
  // Before npm is there: a signal that comes while it starts ends it too.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, stop)
  child = spawn(command, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: !isWindows,
    shell: isWindows,
  })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const ended = await new Promise((resolve) => {
    child.on('error', (error) => resolve({ error }))
    child.on('close', (code) => resolve({ code }))
  })
  for (const signal of signals) process.off(signal, stop)
  return { ...ended, output, stoppedBy }
}

/**
 * The lock is a folder with a file that is named after its owner's pid. One rename puts it in place, and fails if the
 * folder is not empty. The file of a dead owner is removed by its name. So nobody can take the lock of a living owner.
 */
async function takeLock(held) {
  for (let hasTold = false; !tryLock(held); ) {
    const owner = ownerOf(held)
    if (owner && isAlive(owner)) {
      if (!hasTold) console.error(`Waiting for another install (process ${owner}) …`)
      hasTold = true
      await new Promise((wake) => setTimeout(wake, 100))
    } else {
      removeDead(held, owner)
    }
  }
}

function tryLock(held) {
  const mine = `${held}-${process.pid}`
  mkdirSync(mine, { recursive: true })
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

function ownerOf(held) {
  try {
    return Number(readdirSync(held)[0])
  } catch {
    return undefined
  }
}

function removeDead(held, owner) {
  if (owner) rmSync(join(held, String(owner)), { force: true })
  try {
    rmdirSync(held)
  } catch {
    // Another process was quicker.
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
