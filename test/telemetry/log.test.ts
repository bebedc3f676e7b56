import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createLog, type Logger } from '../../src/lib/log.ts'
import { until } from '../support/running/until.ts'
import { startChild } from '../support/service/child.ts'

/** A process that writes its log to a pipe, and then does nothing for a long time. */
function logging(t: TestContext, calls: string) {
  const program = `
    import { createLog } from ${JSON.stringify(new URL('../../src/lib/log.ts', import.meta.url).href)}
    const log = createLog({ level: 'info', format: 'json' })
    ${calls}
    setInterval(() => {}, 60_000)`
  const child = startChild(process.execPath, ['--input-type=module-typescript', '-e', program])
  t.after(() => child.kill('SIGKILL'))
  let lines = ''
  child.stderr.on('data', (chunk) => {
    lines += chunk
  })
  return () =>
    lines
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).msg)
}

describe('the log of a process that continues', () => {
  test('shows a line soon, although it is the only one', async (t) => {
    const messages = logging(t, "log.info('alone')")
    await until('the line', () => messages().length > 0)
    assert.deepEqual(messages(), ['alone'])
  })

  test('shows an error immediately, with everything before it', async (t) => {
    // From then on the process stands still: what it has not written, it does not write.
    const standStill = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
    const messages = logging(t, `log.info('first'); log.warn('second'); log.error('third'); ${standStill}`)
    await until('the lines', () => messages().length === 3)
    assert.deepEqual(messages(), ['first', 'second', 'third'])
  })

  test('loses nothing when errors come while it writes', async (t) => {
    const messages = logging(t, "for (let i = 0; i < 500; i++) { log.info('i' + i); log.error('e' + i) }")
    await until('every line', () => messages().length === 1000)
    assert.deepEqual(messages().slice(-2), ['i499', 'e499'])
  })
})

describe('a line of the log', () => {
  const said = (say: (log: Logger) => void): Record<string, unknown> => {
    let line = ''
    say(createLog({ level: 'info', format: 'json' }, { write: (text) => (line += text) }))
    assert.equal(line.indexOf('\n'), line.length - 1)
    return JSON.parse(line) as Record<string, unknown>
  }

  test('has a level, a time, the fields and the message', () => {
    const { time, ...line } = said((log) => log.warn({ a: 'ü"\n', n: 1.5, none: undefined, no: null, yes: true }, 'm"'))
    assert.deepEqual(line, { level: 'warn', a: 'ü"\n', n: 1.5, no: null, yes: true, msg: 'm"' })
    assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 10_000)
    assert.equal(said((log) => log.info('alone'))['msg'], 'alone')
  })

  test('logs what an error is, where it happened and what caused it', () => {
    const error = Object.assign(new TypeError('outer', { cause: new Error('inner') }), { code: 'E' })
    const { err } = said((log) => log.error({ err: error }, 'failed'))
    assert.partialDeepStrictEqual(err, { type: 'TypeError', message: 'outer', code: 'E', cause: { message: 'inner' } })
    assert.match((err as Error).stack ?? '', /log\.test/)
  })

  test('never contains a value that is named a secret', () => {
    const secrets = {
      authorization: 'x1',
      nested: { secret: 'x2' },
      err: Object.assign(new Error(), { password: 'x3' }),
    }
    assert.doesNotMatch(JSON.stringify(said((log) => log.info(secrets, 'shown'))), /x[123]/)
  })

  test('never contains what was sent to Redis, such as its password', () => {
    const err = Object.assign(new Error('WRONGPASS'), { command: { name: 'hello', args: ['3', 'AUTH', 'me', 'x4'] } })
    const line = JSON.stringify(said((log) => log.warn({ err }, 'refused')))
    assert.match(line, /WRONGPASS/)
    assert.doesNotMatch(line, /x4/)
  })

  test('never fails its caller, whatever it is given', () => {
    const circle: Record<string, unknown> = {}
    circle['itself'] = circle
    const line = said((log) => log.info({ circle, big: 2n ** 64n, nan: Number.NaN }, 'told'))
    assert.deepEqual([line['big'], line['nan'], line['msg']], ['18446744073709551616', null, 'told'])
  })

  test('below the level it is not written', () => {
    const log = createLog({ level: 'error', format: 'json' }, { write: () => assert.fail('written') })
    log.warn('nobody asked')
    assert.deepEqual([log.isLevelEnabled('warn'), log.isLevelEnabled('error')], [false, true])
  })
})
