// Each test has a time limit of the runner's. These are for what the runner cannot see: a loop that never gives up the
// thread, and a process as a whole.
import { Worker } from 'node:worker_threads'
import { PATIENCE } from './patience.ts'

const PROCESS_MS = 150_000 * PATIENCE
const STANDSTILL_MS = 15_000 * PATIENCE

/** Kills this process when it lives longer than `processMs`, or its thread does not turn for `standstillMs`. */
export function limitTime({ processMs = PROCESS_MS, standstillMs = STANDSTILL_MS } = {}): void {
  const turns = new Int32Array(new SharedArrayBuffer(4))
  setInterval(() => Atomics.add(turns, 0, 1), Math.min(1_000, standstillMs / 4)).unref()
  new Worker(WATCH, { eval: true, execArgv: [], workerData: { turns, processMs, standstillMs } }).unref()
}

const WATCH = `
  const { workerData: { turns, processMs, standstillMs } } = require('node:worker_threads')
  const { writeSync } = require('node:fs')
  const started = performance.now()
  let seen = -1
  let since = started
  const end = (why) => {
    writeSync(2, 'tests were stopped: ' + why + '\\n')
    process.kill(process.pid, 'SIGKILL')
  }
  setInterval(() => {
    const now = performance.now()
    const turned = Atomics.load(turns, 0)
    if (turned !== seen) since = now
    seen = turned
    if (now - started > processMs) end('they are not done after ' + processMs / 1000 + ' s')
    if (now - since > standstillMs) end('the thread has stood still for ' + standstillMs / 1000 + ' s')
  }, standstillMs / 10)
`
