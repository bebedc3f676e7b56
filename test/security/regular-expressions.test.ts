import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { redact } from '../../src/lib/text/redact.ts'
import { readSources } from '../support/house/imports.ts'
import { cpuTimeBelow, cpuTimeOf } from '../support/running/cpu-time.ts'

const LENGTH = 20_000
/** An expression that backtracks over the text for every character takes seconds; all others take microseconds. */
const LIMIT_MS = 100

/** Slow for long texts, which they never get. */
const SHORT_TEXT_ONLY: Record<string, string> = {
  'cli/terminal/table.ts': 'cells of a table on the terminal of whoever asked for it',
  'runtime/tools/fill-secrets.ts': 'secrets of the operator',
}

const UNITS = [
  ...' \t\n\0"\'\\/,.:;=-_%&<>()[]{}aA0ä漢…',
  'a ',
  'a-',
  'a.',
  '0.',
  'a=',
  ' ,',
  '- ',
  '{{',
  '}}',
  '"a',
  'x,x ',
]
const ATTACKS = UNITS.flatMap((unit) => {
  const text = unit.repeat(LENGTH / unit.length)
  return [text, `${text}!`, `!${text}`]
})

/** Beginnings of secrets that never become one. */
const SECRET_UNITS = [
  '-eyJ',
  ' eyJaaaaaaaa',
  '-eyJaaaaaaaa.',
  '-eyJaaaaaaaa.a.',
  'eyJ.',
  '-sk-',
  'mrg_',
  'AKIA',
  'authorization ',
  'authorization: a ',
  'bearer ',
  'password=',
  'a://b',
  'a://',
  '-----BEGIN PRIVATE KEY-----',
  '-----BEGIN ',
]

const LITERAL =
  /(?<=[=(,:!&|?[{;>\s])\/(?![*/\s])((?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)(?=[.,;:)\]}\s])/g

function literalsIn(text: string): RegExp[] {
  return [...text.matchAll(LITERAL)].flatMap(([, source = '', flags]) => {
    try {
      return [new RegExp(source, flags)]
    } catch {
      // The code was a division, not an expression.
      return []
    }
  })
}

function slowest(expression: RegExp): number {
  let longest = 0
  for (const text of ATTACKS) {
    longest = Math.max(
      longest,
      cpuTimeOf(() => expression.test(text)),
    )
    if (longest > LIMIT_MS) break
  }
  return longest
}

/** Slow three times in a row: a single time could be caused by the machine. */
function isSlow(expression: RegExp): boolean {
  return [1, 2, 3].every(() => slowest(expression) > LIMIT_MS)
}

describe('regular expressions', () => {
  const sources = readSources(fileURLToPath(new URL('../../src', import.meta.url)))

  test('none becomes slow with a malicious text', () => {
    const found = sources.flatMap(({ file, text }) => literalsIn(text).map((expression) => ({ file, expression })))
    assert.ok(found.length > 80, `${found.length}`)
    const slow = found.filter(({ file, expression }) => !SHORT_TEXT_ONLY[file] && isSlow(expression))
    assert.deepEqual(slow, [])
  })

  test('hiding secrets does not become slow with a malicious text', () => {
    const slow = SECRET_UNITS.filter((unit) => {
      const text = `${unit.repeat(50_000 / unit.length)}!`
      return cpuTimeBelow(LIMIT_MS, () => redact(text)) > LIMIT_MS
    })
    assert.deepEqual(slow, [])
  })

  test('the check finds a slow expression', () => {
    const planted = literalsIn('const a = /^(a+)+$/.test(x) ; y.replace(/\\s+$/, "") ; z = 1 / 2 / 3')
    assert.deepEqual(planted.map(String), ['/^(a+)+$/', '/\\s+$/'])
    assert.ok(slowest(/\s+$/) > LIMIT_MS)
  })
})
