import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { describe, type TestContext, test } from 'node:test'
import { until } from './support/until.ts'

/** A process that writes its log to a pipe, says so on stdout, and then does nothing for a long time. */
function logging(t: TestContext, calls: string) {
  const program = `
    import { createLog } from ${JSON.stringify(new URL('../src/lib/log.ts', import.meta.url).href)}
    const log = createLog({ level: 'info', format: 'json' })
    ${calls}
    setInterval(() => {}, 60_000)
    process.stdout.write('said')`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program])
  t.after(() => child.kill('SIGKILL'))
  let lines = ''
  let saidAt = 0
  child.stderr.on('data', (chunk) => {
    lines += chunk
  })
  child.stdout.once('data', () => {
    saidAt = performance.now()
  })
  const messages = () =>
    lines
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).msg)
  return { messages, hasSaid: () => saidAt > 0, since: () => performance.now() - saidAt }
}

describe('the log of a process that goes on', () => {
  test('shows a line within about a second', async (t) => {
    const { messages, since } = logging(t, "log.info('alone')")
    await until('the line', () => messages().length > 0)
    assert.deepEqual(messages(), ['alone'])
    assert.ok(since() < 3_000)
  })

  test('shows an error at once, and all that came before it', async (t) => {
    const { messages, hasSaid, since } = logging(t, "log.info('first'); log.warn('second'); log.error('third')")
    await until('it has been said', hasSaid)
    await until('the lines', () => messages().length === 3)
    assert.deepEqual(messages(), ['first', 'second', 'third'])
    assert.ok(since() < 700, `${since()} ms`)
  })

  test('loses nothing when errors come while it writes', async (t) => {
    const { messages } = logging(t, "for (let i = 0; i < 500; i++) { log.info('i' + i); log.error('e' + i) }")
    await until('every line', () => messages().length === 1000)
    assert.deepEqual(messages().slice(-2), ['i499', 'e499'])
  })
})
