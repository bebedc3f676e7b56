// The runner gives each test a time limit. These limits are for what the runner can't see: a loop that never yields the
// thread, and a file as a whole.
import { Worker } from 'node:worker_threads'
import { PATIENCE } from './patience.ts'

/**
 * For one test and for a whole file, because the runner has only one limit. A machine that is four times slower stays
 * below it.
 */
export const TEST_LIMIT_MS = 900_000 * PATIENCE
/** A little more than the runner allows a file, so that the runner ends first whatever it can. */
const FILE_MS = TEST_LIMIT_MS + 5_000
const STANDSTILL_MS = 240_000 * PATIENCE

export type Watch = { begin(file: string): void; end(): void }

/**
 * Kills this process if a file takes longer than `fileMs`, or if the thread is blocked for `standstillMs`. The reason
 * is written to the file `notes`, because the runner shows a process's output far above its summary.
 */
export function watchFiles(notes: string, { fileMs = FILE_MS, standstillMs = STANDSTILL_MS } = {}): Watch {
  const turns = new Int32Array(new SharedArrayBuffer(4))
  const turning = setInterval(() => Atomics.add(turns, 0, 1), Math.min(1_000, standstillMs / 4)).unref()
  const worker = new Worker(WATCH, { eval: true, execArgv: [], workerData: { turns, notes, fileMs, standstillMs } })
  worker.unref()
  return {
    begin: (file) => worker.postMessage(file),
    end() {
      clearInterval(turning)
      worker.terminate()
    },
  }
}

const WATCH = `
  const { parentPort, workerData: { turns, notes, fileMs, standstillMs } } = require('node:worker_threads')
  const { appendFileSync } = require('node:fs')
  let file = 'the process'
  let started = performance.now()
  let seen = -1
  let since = started
  parentPort.on('message', (next) => {
    file = next
    started = performance.now()
  })
  const end = (why) => {
    appendFileSync(notes, file + ' was stopped: it ' + why + '\\n')
    process.kill(process.pid, 'SIGKILL')
  }
  setInterval(() => {
    const now = performance.now()
    const turned = Atomics.load(turns, 0)
    if (turned !== seen) since = now
    seen = turned
    if (now - started > fileMs) end('is not done after ' + fileMs / 1000 + ' s')
    if (now - since > standstillMs) end('has stood still for ' + standstillMs / 1000 + ' s')
  }, standstillMs / 10)
`
