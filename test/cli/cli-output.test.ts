import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sparkline } from '../../src/cli/terminal/sparkline.ts'
import { renderTable } from '../../src/cli/terminal/table.ts'

const head = [
  { title: 'ID', whole: true },
  { title: 'TEXT', whole: false },
]

describe('a table', () => {
  test('columns as wide as they must be', () => {
    const rows = [
      ['a', 'short'],
      ['abc', 'a\nb'],
    ]
    assert.deepEqual(renderTable(head, rows), ['ID   TEXT', 'a    short', 'abc  a b'])
  })

  test('what is too wide is cut short, but never an id', () => {
    const rows = [['key_0123456789', 'a very long text that does not fit']]
    assert.deepEqual(renderTable(head, rows, 30), ['ID              TEXT', 'key_0123456789  a very long t…'])
    assert.deepEqual(renderTable(head, rows, 10), ['ID              TEXT', 'key_0123456789  a very …'])
  })

  test('wide characters take two places', () => {
    const rows = [
      ['港', 'x'],
      ['⚓️🚢', 'y'],
    ]
    const [, first = '', second = ''] = renderTable(head, rows)
    assert.deepEqual([first, second], ['港    x', '⚓️🚢  y'])
  })
})

describe('a sparkline', () => {
  test('from zero to the highest', () => {
    assert.equal(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 20), '▁▂▃▄▅▆▇█')
    assert.equal(sparkline([0, 0], 20), '▁▁')
    assert.equal(sparkline([5], 20), '█')
  })

  test('more values than places: the highest of each', () => {
    assert.equal(sparkline([0, 7, 0, 0, 0, 0, 0, 7], 4), '█▁▁█')
  })
})
