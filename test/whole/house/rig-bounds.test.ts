import assert from 'node:assert/strict'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import { inOneAttempt } from '../../support/running/attempts.ts'
import { writeFileList } from '../../support/running/file-list.ts'
import { boundedShrinking, fc } from '../../support/running/property.ts'
import slowestTests, { slowestFiles } from '../../support/running/slowest.ts'
import { until } from '../../support/running/until.ts'
import { childEnv, isAlive, startChild } from '../../support/service/child.ts'

const support = (name: string) => JSON.stringify(import.meta.resolve(`../../support/${name}`))

/** A process that stands for one that runs tests. */
function runner(t: TestContext, program: string) {
  const child = startChild(process.execPath, ['--input-type=module', '-e', program], {
    env: childEnv(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  return child
}

describe('a program that a test started', () => {
  /** Starts two sleepers, one at the head of a group of its own, and says their pids. */
  const STARTS = `
    import { startChild } from ${support('service/child.ts')}
    const one = startChild('sleep', ['600'])
    const two = startChild('sh', ['-c', 'sleep 600 & echo $!; wait'], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    const short = startChild('true', [])
    short.on('exit', () => {
      two.stdout.on('data', (inner) => {
        console.log(one.pid, two.pid, String(inner).trim())
        end()
      })
    })
  `
  const ends: Record<string, [last: string, signal: NodeJS.Signals | undefined]> = {
    'is killed': ['const end = () => {}', 'SIGKILL'],
    'is told to stop': ['const end = () => {}', 'SIGTERM'],
    fails: ["const end = () => setTimeout(() => { throw new Error('a failure') })", undefined],
  }
  for (const [how, [last, signal]] of Object.entries(ends)) {
    test(`ends with everything it started when the process that runs the tests ${how}`, async (t) => {
      const child = runner(t, STARTS + last)
      const failed = text(child.stderr).then((why) => assert.fail(why))
      const [said] = await Promise.race([once(child.stdout, 'data'), failed])
      const pids = String(said).trim().split(' ').map(Number)
      assert.equal(pids.length, 3)
      const ended = once(child, 'exit')
      if (signal) {
        assert.ok(pids.every(isAlive))
        child.kill(signal)
      }
      await ended
      await until('all to end', () => !pids.some(isAlive))
    })
  }

  test('is always started in the same way', () => {
    const root = join(import.meta.dirname, '../../..')
    const files = globSync('test/**/*.ts', { cwd: root }).filter(
      (file) => !/support\/(service\/child|stores\/daemon)\.ts$/.test(file),
    )
    const others = files.filter((file) =>
      /^import[^\n]*\b(spawn|fork)\b[^\n]*'node:child_process'/m.test(readFileSync(join(root, file), 'utf8')),
    )
    assert.ok(files.length > 100)
    assert.deepEqual(others, [])
  })
})

describe('a process that runs tests', () => {
  const FILES = {
    'in-a-loop.test.mjs': "test('loops', () => { for (;;); })",
    'in-a-wait.test.mjs': "test('waits', () => new Promise(() => setInterval(() => {}, 20)))",
    'left-open.test.mjs': "test('leaves a timer', () => void setInterval(() => {}, 9_999))",
    'killed.test.mjs': "test('dies', () => process.kill(process.pid, 'SIGKILL'))",
    'uncaught.test.mjs': "test('throws later', (t, done) => { setImmediate(() => { setImmediate(done); oops() }) })",
    'rejected.test.mjs':
      "test('forgets', async () => { Promise.reject(new Error('oops')); await new Promise(setImmediate) })",
    'deep.test.mjs':
      "await 0\ndescribe('outer', () => { before(() => 0)\n describe('inner', () => { test('is inside', () => {}) }) })",
    'good.test.mjs': "test('holds', () => {})",
    'other.test.mjs': "test('holds', () => {})",
  }

  /** Runs these files as one process of `npm test` does. */
  async function run(t: TestContext, names: (keyof typeof FILES)[], limits: object) {
    const folder = mkdtempSync(join(tmpdir(), 'moorage-rig-'))
    t.after(() => rmSync(folder, { recursive: true }))
    for (const name of names) {
      writeFileSync(join(folder, name), `import { before, describe, test } from 'node:test'\n${FILES[name]}\n`)
    }
    const list = writeFileList(
      folder,
      names.map((name) => join(folder, name)),
    )
    const program = `
      import { takeFiles } from ${support('running/take-files.ts')}
      await takeFiles(${JSON.stringify(folder)}, ${JSON.stringify(limits)})
    `
    const child = runner(t, program)
    const [stdout, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')])
    const times = list.times().map((time) => ({ ...time, file: time.file.replace(`${folder}/`, '') }))
    const cutShort = list.cutShort().map((line) => line.replaceAll(`${folder}/`, ''))
    return { stdout, ended: code ?? signal, cutShort, times }
  }

  test('is killed in an endless loop, which is reported at the end of the run', async (t) => {
    // On a busy machine the process may stand still before it has come to the loop.
    await inOneAttempt(async (attempt) => {
      const standstillMs = 300 * 3 ** (attempt - 1)
      const { ended, cutShort } = await run(t, ['in-a-loop.test.mjs'], { standstillMs })
      assert.equal(ended, 'SIGKILL')
      assert.deepEqual(cutShort, [
        `in-a-loop.test.mjs was stopped: it has stood still for ${standstillMs / 1000} s`,
        'in-a-loop.test.mjs did not come to its end',
      ])
    })
  })

  test('is killed in an endless wait, and tests that did not start are reported at the end of the run, too', async (t) => {
    const files = ['good.test.mjs', 'in-a-wait.test.mjs', 'other.test.mjs'] as const
    // On a busy machine the file before may take too long, too.
    await inOneAttempt(async (attempt) => {
      const fileMs = 300 * 3 ** (attempt - 1)
      const { ended, cutShort } = await run(t, [...files], { fileMs, standstillMs: 4_000 })
      assert.equal(ended, 'SIGKILL')
      assert.deepEqual(cutShort, [
        `in-a-wait.test.mjs was stopped: it is not done after ${fileMs / 1000} s`,
        'in-a-wait.test.mjs did not come to its end',
        'other.test.mjs was not begun',
      ])
    })
  })

  test('is reported at the end of the run if it dies', async (t) => {
    const { ended, cutShort } = await run(t, ['killed.test.mjs'], {})
    assert.equal(ended, 'SIGKILL')
    assert.deepEqual(cutShort, ['killed.test.mjs did not come to its end'])
  })

  test('ends and fails if a test has left something open', async (t) => {
    const { stdout, ended, cutShort } = await run(t, ['left-open.test.mjs'], { graceMs: 300 })
    assert.match(stdout, /leaves a timer/)
    assert.equal(ended, 1)
    assert.equal(cutShort.length, 1)
    assert.match(String(cutShort[0]), /^left open after the last test of a process: .*Timeout/)
  })

  for (const name of ['uncaught.test.mjs', 'rejected.test.mjs'] as const) {
    test(`fails for an uncaught error, and names the file: ${name}`, async (t) => {
      const { ended, cutShort } = await run(t, ['good.test.mjs', name, 'other.test.mjs'], {})
      assert.equal(ended, 1)
      assert.match(String(cutShort[0]), new RegExp(`^${name} has thrown what no test caught: \\w*Error: oops`))
    })
  }

  test('keeps the tests of each file within it', async (t) => {
    const { stdout, ended } = await run(t, ['good.test.mjs', 'deep.test.mjs', 'other.test.mjs'], {})
    assert.equal(ended, 0)
    const lines = stdout.split('\n').filter((line) => /[▶✔]/.test(line))
    const told = lines.map((line) => line.replace(/ \([\d.]+ms\)/, '').replace(/\S*\/(?=\w+\.test)/, ''))
    assert.deepEqual(told, [
      '▶ good.test.mjs',
      '  ✔ holds',
      '✔ good.test.mjs',
      '▶ deep.test.mjs',
      '  ▶ outer',
      '    ▶ inner',
      '      ✔ is inside',
      '    ✔ inner',
      '  ✔ outer',
      '✔ deep.test.mjs',
      '▶ other.test.mjs',
      '  ✔ holds',
      '✔ other.test.mjs',
    ])
  })

  test('reports the duration of each file that finished', async (t) => {
    const { times } = await run(t, ['good.test.mjs', 'other.test.mjs', 'killed.test.mjs'], {})
    assert.deepEqual(
      times.map(({ file }) => file),
      ['good.test.mjs', 'other.test.mjs'],
    )
    assert.ok(
      times.every(({ ms, cpuMs }) => ms > 0 && cpuMs > 0),
      JSON.stringify(times),
    )
    const lines = slowestFiles([...times, { file: 'slow.test.mjs', ms: 61_000, cpuMs: 2_500 }])
    assert.match(lines[1] ?? '', /^ +61\.0 s +2\.5 s CPU {2}slow\.test\.mjs$/)
  })

  test('reports the slowest tests with their parents, slowest first', async () => {
    async function* events() {
      for (const [name, ms] of Object.entries({ quick: 5, slow: 1_500 })) {
        for (const [nesting, each] of ['a.test.ts', 'a story', name].entries()) {
          yield { type: 'test:start', data: { name: each, nesting } }
        }
        yield { type: 'test:pass', data: { name, nesting: 2, details: { duration_ms: ms, type: 'test' } } }
        yield { type: 'test:pass', data: { name: 'a story', nesting: 1, details: { duration_ms: 9, type: 'suite' } } }
      }
    }
    let told = ''
    for await (const piece of slowestTests(events())) told += piece
    assert.deepEqual(told.trim().split('\n'), [
      'The 2 slowest of 2 tests:',
      '    1.5 s  a.test.ts: a story › slow',
      '    0.0 s  a.test.ts: a story › quick',
    ])
  })

  test('is not delayed by the limits when all tests are done', async (t) => {
    const { ended, cutShort } = await run(t, ['good.test.mjs', 'other.test.mjs'], {})
    assert.deepEqual({ ended, cutShort }, { ended: 0, cutShort: [] })
  })
})

describe('a property test', () => {
  test('fails if it is interrupted', async () => {
    const slow = fc.asyncProperty(fc.integer(), () => new Promise<void>((resolve) => setTimeout(resolve, 20)))
    await assert.rejects(async () => fc.assert(slow, { numRuns: 1_000, interruptAfterTimeLimit: 100 }), /interrupted/i)
  })

  test('shrinks a failing example only for a limited time', async () => {
    let runs = 0
    let time = 0
    const failing = fc.asyncProperty(fc.array(fc.nat(9), { minLength: 300, maxLength: 300 }), async () => {
      runs++
      time += 10
      throw new Error('always')
    })
    const bounded = fc.assert(failing, { plugins: [boundedShrinking(200, () => time)] })
    await assert.rejects(async () => bounded, /Property failed after 1 tests/)
    // The one that failed, and as many of 10 ms as are over in 200. Left alone it is tried many hundred times.
    assert.equal(runs, 22)
  })
})
