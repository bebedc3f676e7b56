// Runs test files in one process, in the given order, until the first failure.
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { writeFileList } from '../../test/support/running/file-list.ts'
import { startChild } from '../../test/support/service/child.ts'
import { FAILURES, type Failure, STOPS } from './first-failure.ts'

export type Outcome =
  | { kind: 'passed' }
  | { kind: 'failed'; file: string; test: string }
  /** A file took many times longer than usual. */
  | { kind: 'hung'; file: string }
  | { kind: 'unfinished'; passed: number }

type Run = {
  root: string
  files: readonly string[]
  env: NodeJS.ProcessEnv
  /** A folder that tests may write to. */
  folder: string
  /** For all files together. */
  limitMs: number
  /** For one of them. */
  limitOf: (file: string) => number
}

const LOOK_MS = 200
const FAILED = 'failed.jsonl'

export async function runFiles({ root, files, env, folder, limitMs, limitOf }: Run): Promise<Outcome> {
  const list = mkdtempSync(join(folder, 'list-'))
  const { cutShort } = writeFileList(list, [...files])
  const child = startProcess(root, list, { ...env, [STOPS]: '1' })
  const began = performance.now()
  let stopped: Outcome | undefined
  const look = setInterval(() => {
    const current = files.findLastIndex((_, i) => existsSync(join(list, `${i}-taken`)))
    const file = files[current]
    if (file === undefined || existsSync(join(list, `${current}-done`))) return
    const ms = Date.now() - statSync(join(list, `${current}-taken`)).mtimeMs
    if (ms > limitOf(file)) stopped ??= { kind: 'hung', file }
    if (performance.now() - began > limitMs) stopped ??= { kind: 'unfinished', passed: current }
    if (stopped && child.pid !== undefined) killGroup(child.pid)
  }, LOOK_MS)
  const code = await ended(child)
  clearInterval(look)
  if (child.pid !== undefined) killGroup(child.pid)
  const [failure] = failuresIn(list)
  const current = files.findLast((_, i) => existsSync(join(list, `${i}-taken`))) ?? files[0] ?? ''
  const notes = cutShort()
  rmSync(list, { recursive: true, force: true })
  if (failure) return { kind: 'failed', ...failure }
  if (stopped) return stopped
  if (code !== 0) return { kind: 'failed', file: current, test: notes[0] ?? `the process ended with ${code}` }
  return { kind: 'passed' }
}

/** Tests that have failed, the first one first. */
export function failuresIn(list: string): Failure[] {
  const path = join(list, FAILED)
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
  return lines.map((line) => JSON.parse(line) as Failure)
}

/** A process that takes files from the list in the folder. */
export function startProcess(root: string, list: string, env: NodeJS.ProcessEnv, isMeasured = false) {
  const at = (path: string) => JSON.stringify(pathToFileURL(join(root, path)).href)
  const takeFiles = `import { takeFiles } from ${at('test/support/running/take-files.ts')}`
  const entry = join(mkdtempSync(join(list, 'process-')), 'main.mjs')
  const program = isMeasured
    ? `${takeFiles}\nimport { keepExecuted } from ${at('scripts/plant/keep-executed.ts')}
       await takeFiles(${JSON.stringify(list)}, { ended: keepExecuted(${JSON.stringify(list)}) })\n`
    : `${takeFiles}\nawait takeFiles(${JSON.stringify(list)})\n`
  writeFileSync(entry, program)
  const reporter = pathToFileURL(join(root, 'scripts/plant/first-failure.ts')).href
  return startChild(process.execPath, [`--test-reporter=${reporter}`, '--test-reporter-destination=stdout', entry], {
    cwd: root,
    env: { ...env, [FAILURES]: join(list, FAILED) },
    detached: true,
    stdio: 'ignore',
  })
}

export function ended(child: ReturnType<typeof startProcess>): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
}

/** The process and what its tests have started. */
function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of them have ended.
  }
}
