import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseDuration } from '../../src/lib/duration.ts'
import { idSource, timeOf } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/log.ts'
import { prettyStream } from '../../src/lib/pretty-log.ts'
import { parseSize } from '../../src/lib/size.ts'
import { csvOf } from '../../src/lib/text/csv.ts'
import { nearest } from '../../src/lib/text/nearest.ts'
import { cutToBytes } from '../../src/lib/text/text.ts'

describe('idSource', () => {
  test('ids of the same millisecond sort in the order in which they were made, whatever came between', () => {
    const newId = idSource()
    const ids: string[] = []
    for (let i = 0; i < 2_000; i++) {
      ids.push(newId('req', 1_794_700_800_000 + Math.floor(i / 500)))
      if (i % 7 === 0) newId('mem', 1_600_000_000_000)
    }
    assert.deepEqual(ids.toSorted(), ids)
    assert.equal(new Set(ids).size, ids.length)
    assert.match(ids[0] as string, /^req_[0-9A-HJKMNP-TV-Z]{26}$/)
  })

  test('an id contains its time of creation', () => {
    const newId = idSource()
    for (const time of [0, 31, 1_794_700_800_123, 2 ** 48 - 1]) assert.equal(timeOf(newId('req', time)), time)
  })
})

test('CSV has no text that a spreadsheet would run, and takes every text for one cell', () => {
  const texts = ['=1+1', '+1', '-1+2', '@SUM(A1)', '\t=1', '\r=1', 'a,b', 'say "hi"', 'two\nlines', 'plain-1', -5, null]
  const cells = [`'=1+1`, `'+1`, `'-1+2`, `'@SUM(A1)`, `'\t=1`, `"'\r=1"`, '"a,b"', '"say ""hi"""', '"two\nlines"']
  const lines = ['text', ...cells, 'plain-1', '-5', '']
  assert.equal(csvOf(texts.map((text) => ({ text }))), lines.map((line) => `${line}\r\n`).join(''))
})

describe('parseDuration', () => {
  const durations = { '250ms': 250, '15s': 15_000, '1m': 60_000, '2h': 7_200_000, '30d': 2_592_000_000, '0s': 0 }
  for (const [text, milliseconds] of Object.entries(durations)) {
    test(`${text} is ${milliseconds} ms`, () => assert.equal(parseDuration(text), milliseconds))
  }

  test('the longest is still exact', () => assert.ok(Number.isSafeInteger(parseDuration('99999999d'))))

  const others = [
    '',
    '1',
    's',
    '1 s',
    ' 1s',
    '1s ',
    '1s\n',
    '-1s',
    '+1s',
    '1.5h',
    '01s',
    '1e3s',
    '1S',
    '1w',
    '1h30m',
    '１s',
  ]
  for (const text of [...others, `${'9'.repeat(50_000)}s`]) {
    test(`${JSON.stringify(text.slice(0, 12))} is refused`, () => assert.throws(() => parseDuration(text), RangeError))
  }
})

describe('parseSize', () => {
  const sizes = {
    '0': 0,
    '65536': 65_536,
    '10B': 10,
    '500kB': 500_000,
    '1MB': 1e6,
    '1GB': 1e9,
    '1KiB': 1024,
    '1MiB': 1_048_576,
    '2GiB': 2 ** 31,
  }
  for (const [text, bytes] of Object.entries(sizes)) {
    test(`${text} is ${bytes} bytes`, () => assert.equal(parseSize(text), bytes))
  }

  for (const text of ['', 'MiB', '1 MiB', '1.5MiB', '-1', '1mib', '1KB', '1M', '0x10', '1MiB\n']) {
    test(`${JSON.stringify(text)} is refused`, () => assert.throws(() => parseSize(text), RangeError))
  }
})

describe('nearest', () => {
  const words = ['server', 'allowedCidrs', 'trustedProxies', 'warn', 'data']
  const meant = {
    sever: 'server',
    serevr: 'server',
    allowed_cidrs: 'allowedCidrs',
    trustedProxy: 'trustedProxies',
    warning: 'warn',
  }
  for (const [typed, word] of Object.entries(meant)) {
    test(`${typed} means ${word}`, () => assert.equal(nearest(typed, words), word))
  }

  test('nothing is offered for a word that resembles none', () => {
    assert.equal(nearest('telemetry', words), undefined)
    assert.equal(nearest('database', words), undefined)
  })
})

describe('cutToBytes', () => {
  for (const [text, bytes, cut] of [
    ['harbour', 100, 'harbour'],
    ['harbour', 4, 'harb'],
    ['äöü', 4, 'äö'],
    ['äöü', 5, 'äö'],
    ['a😀b', 4, 'a'],
    ['a😀b', 5, 'a😀'],
  ] as const) {
    test(`${bytes} bytes of ${text}`, () => assert.equal(cutToBytes(text, bytes), cut))
  }
})

describe('pretty logs', () => {
  const written = (terminal: { isTTY?: true; hasColors?: () => boolean }, color: boolean): string => {
    let text = ''
    const write = (line: unknown) => {
      text += line
      return true
    }
    createLog({ level: 'info', format: 'pretty' }, prettyStream({ ...terminal, write }, color)).warn(
      { n: 1 },
      'low tide',
    )
    return text.replace(/\d\d:\d\d:\d\d/, 'hh:mm:ss')
  }

  test('are coloured on a terminal that can, unless log.color says no', () => {
    const plain = 'hh:mm:ss warn  low tide n=1\n'
    const terminal = { isTTY: true, hasColors: () => true } as const
    assert.equal(written(terminal, true), '\x1b[2mhh:mm:ss\x1b[22m \x1b[33mwarn \x1b[39m low tide\x1b[2m n=1\x1b[22m\n')
    assert.equal(written(terminal, false), plain)
    assert.equal(written({ isTTY: true, hasColors: () => false }, true), plain)
    assert.equal(written({}, true), plain)
  })

  test('what strangers wrote neither steers the terminal nor makes a line of its own', () => {
    const evil = 'a\u001b[2J\u009b\u202eb\r\nhh:mm:ss warn  forged\u2028'
    let text = ''
    const write = (line: string) => {
      text += line
      return true
    }
    const log = createLog({ level: 'info', format: 'pretty' }, prettyStream({ write }, false))
    log.info({ name: evil, [evil]: 1, nested: { evil } }, evil)
    log.error({ err: new Error(evil) }, 'failed')
    assert.doesNotMatch(text, /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028]/u)
    assert.equal(text.split('\n').length, 3)
    assert.ok(text.includes('a\\u001b[2J\\u009b\\u202eb\\u000d\\u000ahh:mm:ss'), text)
  })
})
