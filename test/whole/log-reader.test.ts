import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, type StdioOptions } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, constants, existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { newKey } from '../../src/security/key-format.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { built } from '../support/service/built.ts'
import { childEnv, endWithUs, isAlive, startChild } from '../support/service/child.ts'
import { unusedPort } from '../support/stores/daemon.ts'

const ROOT = join(import.meta.dirname, '../..')
const MAIN = built('main')
const STARTS_WITHIN_MS = 15_000
const STOPS_WITHIN_MS = 8_000

/**
 * Logs far more than a pipe or a terminal holds, in bursts between which the log tries again to write what waits, says on
 * stdout that it is through and then each tenth of a second that it is alive. On SIGTERM it logs once more and ends as
 * the service does.
 */
const PROGRAM = `
  import { createLog } from ${JSON.stringify(join(ROOT, 'src/lib/log.ts'))}
  const log = createLog({ level: 'info', format: process.argv[1] })
  for (let i = 0; i < 10_000; i++) {
    log.info({ i, filling: 'x'.repeat(100) }, 'line')
    if (i % 2_500 === 0) await new Promise((resolve) => setTimeout(resolve, 200))
  }
  log.error('the last of them')
  process.on('SIGTERM', () => {
    log.error('told to stop')
    process.exit(3)
  })
  process.on('SIGHUP', () => {})
  process.stdout.on('error', () => {})
  setInterval(() => process.stdout.write('alive ' + process.pid + '\\n'), 100)
`

function program(t: TestContext, stdio: StdioOptions, { format = 'json' } = {}): ChildProcess {
  const child = startChild(process.execPath, ['--input-type=module-typescript', '-e', PROGRAM, format], { stdio })
  t.after(() => child.kill('SIGKILL'))
  return child
}

/** SIGTERM, and how it ends; a hanging process is not waited for. */
async function endOf(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal)
  child.kill('SIGTERM')
  return Promise.race([ended, delay(STOPS_WITHIN_MS * PATIENCE, 'it does not end', { ref: false })])
}

function makeFifo(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-fifo-'))
  t.after(() => rmSync(folder, { recursive: true }))
  execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'fifo')])
  return join(folder, 'fifo')
}

describe('a log that is not read', () => {
  test('a full socket does not block the process, which ends when stopped', async (t) => {
    const child = program(t, ['ignore', 'pipe', 'pipe'])
    await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data')
    assert.equal(await endOf(child), 3)
  })

  test('a full pipe does not block the process, which later logs how much was dropped', async (t) => {
    const fifo = makeFifo(t)
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK)
    const writer = openSync(fifo, constants.O_WRONLY)
    const child = program(t, ['ignore', 'pipe', writer])
    closeSync(writer)
    await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data')

    let log = ''
    const buffer = Buffer.alloc(65_536)
    await until('it says so', () => {
      try {
        log += buffer.toString('utf8', 0, readSync(reader, buffer))
      } catch (error) {
        assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN')
      }
      return /dropped log lines/.test(log) && log.endsWith('\n')
    })
    const lines = log.trimEnd().split('\n')
    const dropped = lines.map((line) => JSON.parse(line)).find((line) => line.dropped)
    assert.equal(dropped.level, 'warn')
    assert.equal(lines.length - 1 + dropped.dropped, 10_001, 'every line was written or counted')
    assert.equal(await endOf(child), 3)
    closeSync(reader)
  })

  test('a closed pipe does not block the process, which ends when stopped', async (t) => {
    const fifo = makeFifo(t)
    const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK)
    const writer = openSync(fifo, constants.O_WRONLY)
    const child = program(t, ['ignore', 'pipe', writer])
    closeSync(writer)
    closeSync(reader)
    await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data')
    assert.equal(await endOf(child), 3)
  })

  test('a paused terminal (Ctrl-S) does not block the process', async (t) => {
    const alive = join(mkdtempSync(join(tmpdir(), 'moorage-terminal-')), 'alive')
    t.after(() => rmSync(join(alive, '..'), { recursive: true }))
    const command = `exec "$NODE" --input-type=module-typescript -e "$PROGRAM" pretty > "$ALIVE"`
    const terminal = startChild('script', ['-qfc', command, '/dev/null'], {
      env: { ...process.env, NODE: process.execPath, PROGRAM, ALIVE: alive, SHELL: '/bin/sh' },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    t.after(() => terminal.kill('SIGKILL'))
    // Nobody reads what the terminal shows: `script` stops, and what it shows stays in the terminal.
    const heard = () => (existsSync(alive) ? readFileSync(alive, 'utf8') : '')
    const pid = await until('the program is through', () => /alive (\d+)/.exec(heard())?.[1], STARTS_WITHIN_MS)
    endWithUs(Number(pid))
    t.after(() => endQuietly(Number(pid)))

    // The terminal is closed.
    terminal.kill('SIGKILL')
    await once(terminal, 'exit')
    const { length } = heard()
    await until('it goes on', () => heard().length > length)
    process.kill(Number(pid), 'SIGTERM')
    await until('it ends', () => !isAlive(Number(pid)), STOPS_WITHIN_MS)
  })
})

describe('a service whose log is not read', () => {
  for (const gone of ['stdout', 'stderr'] as const) {
    test(`continues after the reader of ${gone} has exited, and can be stopped`, async (t) => {
      const home = mkdtempSync(join(tmpdir(), 'moorage-unread-'))
      const env = { ...childEnv(), MOORAGE_DATA: join(home, 'data'), PORT: '0', LOG_LEVEL: 'info' }
      const child = startChild(process.execPath, [MAIN], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
      t.after(() => {
        child.kill('SIGKILL')
        rmSync(home, { recursive: true, force: true })
      })
      let said = ''
      child.stdout.on('data', (chunk) => {
        said += chunk
      })
      const url = await until('it says where it is', () => /URL +(\S+)/.exec(said)?.[1], STARTS_WITHIN_MS)
      child[gone].destroy()
      assert.equal((await fetch(`${url}/healthz`)).status, 200)
      assert.equal(await endOf(child), 0)
    })
  }

  test('continues if its first lines are not read', async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'moorage-unread-'))
    const port = String(await unusedPort())
    const key = newKey(randomBytes)
    const env = {
      ...childEnv(),
      HOME: home,
      MOORAGE_DATA: join(home, 'data'),
      MOORAGE_INIT_KEY: key,
      PORT: port,
    }
    const start = [built('cli'), 'start']
    const child = startChild(process.execPath, start, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
    t.after(() => {
      child.kill('SIGKILL')
      rmSync(home, { recursive: true, force: true })
    })
    child.stdout.destroy()
    let log = ''
    child.stderr.on('data', (chunk) => {
      log += chunk
    })
    const headers = { Authorization: `Bearer ${key}` }
    const ask = () => fetch(`http://127.0.0.1:${port}/v1/agents/hello`, { headers }).then(({ ok }) => ok)
    // The agent is the last that a first start makes, before the first words.
    await until('it has started', () => ask().catch(() => false), STARTS_WITHIN_MS)
    for (let i = 0; i < 10; i++) assert.equal(await ask(), true)
    assert.equal(await endOf(child), 0)
    assert.match(log, /shutting down/, 'it was told to')
  })

  test('continues after its terminal is closed, and can be stopped', async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'moorage-terminal-'))
    const terminal = startChild('script', ['-qfc', `echo "pid $$"; exec "$NODE" "$MAIN"`, '/dev/null'], {
      cwd: home,
      env: {
        ...process.env,
        NODE: process.execPath,
        MAIN,
        MOORAGE_DATA: join(home, 'data'),
        PORT: '0',
        SHELL: '/bin/sh',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    t.after(() => {
      terminal.kill('SIGKILL')
      rmSync(home, { recursive: true, force: true })
    })
    let shown = ''
    terminal.stdout.on('data', (chunk) => {
      shown += chunk
    })
    const url = await until('it says where it is', () => /URL +(http\S+)/.exec(shown)?.[1], STARTS_WITHIN_MS)
    const pid = Number(/pid (\d+)/.exec(shown)?.[1])
    endWithUs(pid)
    t.after(() => endQuietly(pid))

    terminal.kill('SIGKILL')
    await once(terminal, 'exit')
    for (let i = 0; i < 20; i++) assert.equal((await fetch(`${url}/healthz`)).status, 200)
    process.kill(pid, 'SIGTERM')
    await until('it ends', () => !isAlive(pid), STOPS_WITHIN_MS)
  })
})

function endQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
