import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parse } from 'yaml'
import { readYaml, YamlError } from '../../console/lib/yaml/read-yaml.ts'
import { yamlText } from '../../console/lib/yaml/yaml-text.ts'

describe('YAML in the console', () => {
  test('reads what it has written', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.stringMatching(/^[ \n#:\-"'{}[\],|>&*!?a-c0-9.~]{0,12}$/),
      fc.constantFrom('true', 'null', '1e3', '0x1f', '- a', 'a: b', 'a #b', '\n', 'a\n\n b\n', '', '---'),
    )
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.boolean(), fc.constant(null), tie('list'), tie('map')),
      list: fc.array(tie('any'), { maxLength: 4 }),
      map: fc.dictionary(text, tie('any'), { maxKeys: 4, noNullPrototype: true }),
    }))
    const named = fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), value.any, { maxKeys: 5, noNullPrototype: true })
    fc.assert(
      fc.property(named, (definition) => {
        const written = yamlText(definition)
        assert.deepEqual(readYaml(written).value, definition, written)
      }),
      { numRuns: 500 },
    )
  })

  const TEXTS = {
    'lists flush with their names, and further right': 'a:\n- 1\n- b: 2\n  c: 3\nd:\n  - - x\n    - y\n  -\n    z: 1\n',
    'texts in blocks':
      'a: |\n  one\n\n    two\n  three\n\nb: |-\n  x\nc: >\n  folded\n  text\n\n  more\nd: >-\n  y\ne: |+\n  z\n\nf: 1',
    'texts that go on below': "a: one\n  two\n  three\nb: \"x\n  y\"\nc: 'it''s\n  so'\n",
    'brackets, over lines too':
      'a: [1, two three, "f,our", {b: 5, c: [x]}]\nd: {e: http://x.test/a?b=c,\n  f: null, g: }\nh: []\ni: {}\n',
    'scalars of every kind':
      'a: 1\nb: -1.5e3\nc: 0x1F\nd: ~\ne: True\nf: "1"\ng: 12:30\nh: 1.2.3\ni: yes\nj: .5\nk: 2024-01-01\n',
    comments: '# first\na: 1 # one\nb: "#no" # two\nc: a#b\n\n# last\nd:\n  # inside\n  e: 1\n',
    'names in quotes': '"a b": 1\n\'c\': 2\nd e: 3\nf-g: 4\n-h: 5\n"x:y": 6\n',
    'nothing behind a name': 'a:\nb:\n  c:\nd: 1\n',
    escapes: 'a: "\\u00e9\\n\\t\\"\\\\\\x41"\n',
    'a beginning': '---\na: 1\n',
    'a comment before the beginning, an end, and a mark of the byte order': '\uFEFF# mine\n---\na: 1\n...\n',
    'a folded text with an indented paragraph': 'a: >\n  x\n\n    y\n\n  z\n',
    'a block below its name, and an escaped line break': 'a:\n  |\n  x\nb: "x\\\n  y"\nc: {x}\na#b: 1\n',
  }
  for (const [what, text] of Object.entries(TEXTS)) {
    test(`reads like the yaml package: ${what}`, () => assert.deepEqual(readYaml(text).value, parse(text)))
  }

  test('knows the line of each value', () => {
    const { lines } = readYaml('model: x\n\ntools:\n  - type: http\n    url: y\n  # more\n  - type: mcp\n')
    assert.deepEqual(Object.fromEntries(lines), {
      model: 1,
      tools: 3,
      'tools.0': 4,
      'tools.0.type': 4,
      'tools.0.url': 5,
      'tools.1': 7,
      'tools.1.type': 7,
    })
  })

  const MISTAKES: [what: string, text: string, line: number, message: RegExp][] = [
    ['a tab', 'a:\n\tb: 1', 2, /[Tt]abs/],
    ['a name that is there twice', 'a: 1\nb: 2\na: 3', 3, /unique/],
    ['a name that is there twice in braces', 'a: {b: 1, b: 2}', 1, /unique/],
    ['a line that fits nowhere', 'a:\n    b: 1\n  c: 2', 3, /indented|same column/],
    ['no colon', 'a: 1\nnonsense\nb: 2', 2, /key/],
    ['a colon in a text', 'a: b: c', 1, /mapping/],
    ['an open bracket', 'a:\n  b: [1\n\n', 2, /end with a \]/],
    ['an open quote', 'a: 1\nb: "c\n\n', 2, /quote/],
    ['an anchor', 'a: &x 1', 1, /Anchors/],
    ['an alias', 'a: 1\nb: *x', 2, /alias/i],
    ['an unknown tag', 'a: !x 1', 1, /tag/],
  ]
  for (const [what, text, line, message] of MISTAKES) {
    test(`reports the line of an error: ${what}`, () => {
      assert.throws(
        () => readYaml(text),
        (error) => error instanceof YamlError && error.line === line && message.test(error.message),
      )
    })
  }
})
