import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openSources, type Sources, withMistake } from '../../scripts/plant/mistakes.ts'
import { sqlChanges } from '../../scripts/plant/sql-changes.ts'

const SOURCE = `import { log } from './log.ts'
const MOST = 8
export async function take(items: string[], most = MOST): Promise<string | undefined> {
  if (items.length >= most) return undefined
  await log.info('nothing', 1)
  await forget(items)
  return items[0] ?? 'none'
}
async function forget(items: string[]): Promise<void> {
  items.pop()
}
`

describe('what npm run plant changes in a source', () => {
  let root = ''
  let sources: Sources

  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'moorage-planted-'))
    await symlink(resolve(import.meta.dirname, '../../node_modules'), join(root, 'node_modules'))
    await mkdir(join(root, 'src'))
    const compilerOptions = {
      strict: true,
      target: 'esnext',
      module: 'nodenext',
      types: [],
      allowImportingTsExtensions: true,
      noEmit: true,
      noUncheckedIndexedAccess: true,
    }
    await writeFile(join(root, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }))
    await writeFile(join(root, 'src/log.ts'), 'export const log = { async info(text: string, level: number) {} }\n')
    await writeFile(join(root, 'src/take.ts'), SOURCE)
    sources = openSources(root)
  })

  after(async () => {
    sources.close()
    await rm(root, { recursive: true })
  })

  test('every mistake has a place of its own, and logs have none', () => {
    assert.deepEqual(
      sources.mistakesIn('src/take.ts').map(({ id, replacement }) => `${id} ${replacement}`),
      [
        'src/take.ts:2:14:one-more 9',
        'src/take.ts:2:14:one-less 7',
        'src/take.ts:4:3:return {}',
        'src/take.ts:4:20:boundary >',
        'src/take.ts:6:3:call {}',
        'src/take.ts:6:3:await forget(items)',
        'src/take.ts:7:18:default ',
        'src/take.ts:7:16:one-more 1',
        'src/take.ts:10:3:call {}',
      ],
    )
  })

  test('what does not compile is known', () => {
    const compiling = sources.mistakesIn('src/take.ts').filter(({ kind }) => kind === 'call' || kind === 'default')
    assert.deepEqual(compiling.map(sources.compiles), [true, true, true])
    const [first] = sources.mistakesIn('src/take.ts')
    assert.ok(first)
    assert.equal(sources.compiles({ ...first, replacement: "'eight'" }), false)
    assert.equal(sources.compiles(first), true)
    assert.match(withMistake(SOURCE, first), /const MOST = 9\n/)
  })
})

describe('what npm run plant changes in a statement', () => {
  const results = (text: string) => sqlChanges(text).map((change) => withMistake(text, change))

  test('operators, and conditions with the word before them', () => {
    assert.deepEqual(
      results('`select id from runs where owner = ${owner} and (ends > ${now} or ends is null) order by id desc`'),
      [
        '`select id from runs where (ends > ${now} or ends is null) order by id desc`',
        '`select id from runs where owner <> ${owner} and (ends > ${now} or ends is null) order by id desc`',
        '`select id from runs where owner = ${owner}  order by id desc`',
        '`select id from runs where owner = ${owner} and (ends >= ${now} or ends is null) order by id desc`',
        '`select id from runs where owner = ${owner} and (ends > ${now} or ends is not null) order by id desc`',
        '`select id from runs where owner = ${owner} and (ends > ${now} or ends is null) order by id`',
      ],
    )
  })

  test('nothing inside of a value, and no half of a between', () => {
    assert.deepEqual(results('`and x between 1 and 2 and ${isOpen ? sql`a < b` : sql`true`}`'), [
      '` and ${isOpen ? sql`a < b` : sql`true`}`',
      '`and x between 1 and 2 `',
    ])
  })
})
