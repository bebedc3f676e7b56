import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'docs/**/*.md',
  'examples/**/*.md',
  'sdk/*.md',
]

/** Phrases that readers stumble over, with what to write instead. */
const PHRASES: [RegExp, string][] = [
  [/\b(is|are) told\b/, 'receives, reports, shows, contains'],
  [/\bis none\b/, "isn't one, isn't valid"],
  [/\banew\b/, 'again'],
  [/\bholds? up\b/, 'blocks, delays'],
  [/\bwhat (it|they|an? \w+) left\b/, 'name the thing: memories, deliveries'],
  [/\bof all projects\b/, 'with access to all projects'],
  [/\bunder way\b/, 'in progress, active'],
  [/\b(go|goes|went) on\b/, 'continues, keeps working'],
  [/\bhears?\b/, 'receives, is notified'],
  [/\bwhoever\b/, 'the client, the person, anyone who'],
  [/\bcounts (as|for|with)\b/, 'is counted as, adds to'],
  [/(?<!`)\bdoors?\b(?!`)/, 'channel, or name the client'],
]

const MOST_CHARACTERS = 200

type Line = { text: string; where: string }

/** The lines that people read as text: no code blocks and, unless wanted, no tables. */
function linesOf(page: string): Line[] {
  const lines: Line[] = []
  let isCode = false
  for (const [index, text] of readFileSync(join(ROOT, page), 'utf8').split('\n').entries()) {
    if (/^\s*```/.test(text)) isCode = !isCode
    else if (!isCode) lines.push({ text, where: `${page}:${index + 1}` })
  }
  return lines
}

const lines = globSync(PAGES, { cwd: ROOT, exclude: ['**/node_modules/**'] }).flatMap(linesOf)

test('the documents use plain words', () => {
  const found = lines.flatMap(({ text, where }) =>
    PHRASES.flatMap(([phrase, instead]) => {
      const [words] = phrase.exec(text.replaceAll(/`[^`]*`/g, '``').replaceAll(/\]\([^)]*\)/g, ']')) ?? []
      return words === undefined ? [] : [`${where}: "${words}": write ${instead}`]
    }),
  )
  assert.deepEqual(found, [])
  assert.ok(lines.length > 2_000)
})

test(`no line outside tables is longer than ${MOST_CHARACTERS} characters`, () => {
  const long = lines.filter(({ text }) => !text.startsWith('|') && text.length > MOST_CHARACTERS)
  assert.deepEqual(
    long.map(({ where }) => where),
    [],
  )
})
