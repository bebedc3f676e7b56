import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Logger } from '../../src/lib/log.ts'
import { Errands } from '../../src/lib/work/errands.ts'

function opened() {
  const lines: string[] = []
  const errands = new Errands(new Logger('trace', { write: (line) => lines.push(JSON.parse(line).msg) }))
  return { errands, lines }
}

describe('work that no request waits for', () => {
  test('ends before the stop does, and none begins after that', async () => {
    const { errands, lines } = opened()
    const gate = Promise.withResolvers<void>()
    const done: string[] = []
    errands.begin('the first', async () => {
      await gate.promise
      done.push('first')
    })
    const closed = errands.close().then(() => done.push('closed'))
    errands.begin('the second', async () => done.push('second'))
    gate.resolve()
    await closed
    assert.deepEqual([done, lines], [['first', 'closed'], []])
  })

  test('is reported when it fails, but not when the stop has ended it', async () => {
    const { errands, lines } = opened()
    errands.begin('counting', () => Promise.reject(new Error('no')))
    errands.begin('measuring', async (signal) => {
      await new Promise((stopped) => signal.addEventListener('abort', stopped))
      signal.throwIfAborted()
    })
    await errands.close()
    assert.deepEqual(lines, ['counting failed and will be retried'])
  })
})
