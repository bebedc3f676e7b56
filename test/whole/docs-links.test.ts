import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'CODE_OF_CONDUCT.md',
  'docs/**/*.md',
  'examples/**/*.md',
  'console/*.md',
  'sdk/*.md',
]

/** The anchors of a page, as GitHub makes them of its headings. */
function anchorsOf(file: string): string[] {
  const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
}

test('every link in the documents leads to a file that is there, and to a heading in it', () => {
  const dead: string[] = []
  let count = 0
  for (const page of globSync(PAGES, { cwd: ROOT, exclude: ['**/node_modules/**'] })) {
    const text = readFileSync(join(ROOT, page), 'utf8')
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(https?|mailto):/.test(link)) continue
      count++
      const [path = '', anchor] = link.split('#')
      const file = path === '' ? join(ROOT, page) : normalize(join(ROOT, dirname(page), path))
      const isThere = existsSync(file) && (anchor === undefined || anchorsOf(file).includes(anchor))
      if (!isThere) dead.push(`${page}: ${link}`)
    }
  }
  assert.deepEqual(dead, [])
  assert.ok(count > 100, `${count} links`)
})
