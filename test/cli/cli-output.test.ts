import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sparkline } from '../../src/cli/terminal/sparkline.ts'
import { renderTable } from '../../src/cli/terminal/table.ts'

const head = [
  { title: 'ID', isCopied: true },
  { title: 'TEXT', isCopied: false },
]

describe('a table', () => {
  test('makes columns as wide as their longest value', () => {
    const rows = [
      ['a', 'short'],
      ['abc', 'a\nb'],
    ]
    assert.deepEqual(renderTable(head, rows), ['ID   TEXT', 'a    short', 'abc  a b'])
  })

  test('cuts texts first, then the middle of IDs', () => {
    const rows = [['key_0123456789', 'a very long text that does not fit']]
    assert.deepEqual(renderTable(head, rows, 30), ['ID              TEXT', 'key_0123456789  a very long t…'])
    assert.deepEqual(renderTable(head, rows, 27), ['ID             TEXT', 'key_01…456789  a very long…'])
    assert.deepEqual(renderTable(head, rows, 22), ['ID            TEXT', 'key_0…456789  a very …'])
    assert.deepEqual(renderTable(head, rows, 10), renderTable(head, rows, 22))
    const [, named] = renderTable(head, [['港'.repeat(20), 'x'.repeat(12)]], 20)
    assert.equal(named, `港港…港港港   ${'x'.repeat(12)}`)
  })

  test('keeps short words whole on a narrow terminal', () => {
    const titles = ['REQUEST', 'STATUS', 'MS', 'MESSAGE']
    const columns = titles.map((title) => ({ title, isCopied: title === 'REQUEST' }))
    const row = ['req_01M7QKC79M0002ENRNC6TTMGWK', 'completed', '1204', 'Which berth is free tonight?']
    const lines = renderTable(columns, [row], 48)
    assert.deepEqual(lines, [
      'REQUEST            STATUS     MS    MESSAGE',
      'req_01M7…C6TTMGWK  completed  1204  Which berth…',
    ])
  })

  test('counts wide characters as two columns', () => {
    const rows = [
      ['港', 'x'],
      ['⚓️🚢', 'y'],
    ]
    const [, first = '', second = ''] = renderTable(head, rows)
    assert.deepEqual([first, second], ['港    x', '⚓️🚢  y'])
  })
})

describe('a sparkline', () => {
  test('goes from zero to the highest value', () => {
    assert.equal(sparkline([0, 1, 2, 3, 4, 5, 6, 7], 20), '▁▂▃▄▅▆▇█')
    assert.equal(sparkline([0, 0], 20), '▁▁')
    assert.equal(sparkline([5], 20), '█')
  })

  test('shows the highest of each group if there are more values than columns', () => {
    assert.equal(sparkline([0, 7, 0, 0, 0, 0, 0, 7], 4), '█▁▁█')
  })
})
