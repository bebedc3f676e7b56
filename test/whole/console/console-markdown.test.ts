import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { blocksOf } from '../../../console/lib/text/markdown.ts'
import { type ConsoleBrowser, openBrowser, withoutChromium } from '../../support/console/console.ts'
import { cpuTimeOf } from '../../support/running/cpu-time.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { createAgent } from '../../support/slices/resources.ts'

const FRIENDLY = `# Ropes

We have **two** kinds, see the [list](https://shop.example.com/ropes?a=1) or https://shop.example.com/all.
Ask *gently*, ***now***, \`as **--code** _x_\`, 2 * 3 * 4, snake_case_name.

| Rope | Price |
| --- | ---: |
| 12 mm | 3.20 |
| a \\| b | \`4\` |

1. measure
2. cut
   - with a knife
   - twice

> a quote
> goes on

\`\`\`sh
moorage start <now>
\`\`\`
---
[mail](mailto:shop@example.com)`

/** Everything that could turn a text into markup. */
const HOSTILE = [
  '<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>',
  '[a](javascript:globalThis.hacked=1) [b](JaVaScRiPt:alert(1)) [c]( javascript:alert(1)) [d](java\tscript:alert(1))',
  '[e](data:text/html,<script>globalThis.hacked=1</script>) [f](vbscript:x) [g](/v1/keys) [h](//evil.example) [i](file:///etc/passwd)',
  '![pixel](https://evil.example/pixel.png) <https://ok.example/"onmouseover=globalThis.hacked=1>',
  '[**x**](https://ok.example/" onclick="globalThis.hacked=1)',
  '```html\n<script>globalThis.hacked=1</script>\n```',
  '| <b onclick=globalThis.hacked=1> | x |\n| --- | --- |\n| <svg onload=globalThis.hacked=1> | [j](javascript:1) |',
  '- <iframe srcdoc="<script>parent.hacked=1</script>">\n\n> <style>body{display:none}</style>\n\n# <a href=javascript:1>k</a>',
].join('\n\n')

/** Every character could begin something that has no end. */
const LONG = '*_`[a]('.repeat(2_500)

const paragraph = (text: string) => ({ kind: 'paragraph', level: 0, text })

describe('the markdown of answers', () => {
  test('is parsed as people and models write it', () => {
    const blocks = blocksOf(FRIENDLY)
    assert.deepEqual(
      blocks.map(({ kind }) => kind),
      ['heading', 'paragraph', 'table', 'list', 'quote', 'code', 'rule', 'paragraph'],
    )
    assert.deepEqual(blocks[2], {
      kind: 'table',
      head: ['Rope', 'Price'],
      rows: [
        ['12 mm', '3.20'],
        ['a | b', '`4`'],
      ],
    })
    const inner = {
      kind: 'list',
      marker: '-',
      start: undefined,
      items: [[paragraph('with a knife')], [paragraph('twice')]],
    }
    assert.deepEqual(blocks[3], {
      kind: 'list',
      marker: '.',
      start: 1,
      items: [[paragraph('measure')], [paragraph('cut'), inner]],
    })
    assert.deepEqual(blocks[5], { kind: 'code', language: 'sh', text: 'moorage start <now>' })
  })

  test('unfinished code is shown as code', () => {
    assert.deepEqual(blocksOf('```js\nlet a'), [{ kind: 'code', language: 'js', text: 'let a' }])
  })

  test('a list item contains everything indented to its text', () => {
    const list = (marker: string, start: number | undefined, ...items: object[][]) => ({
      kind: 'list',
      marker,
      start,
      items,
    })
    const cases: [string, object[]][] = [
      [
        '- Fruit\n  - Apples\n  - Pears\n- Bread',
        [
          list(
            '-',
            undefined,
            [paragraph('Fruit'), list('-', undefined, [paragraph('Apples')], [paragraph('Pears')])],
            [paragraph('Bread')],
          ),
        ],
      ],
      ['1. Install\n   1. Download', [list('.', 1, [paragraph('Install'), list('.', 1, [paragraph('Download')])])]],
      ['10. Ten\n    - Sub', [list('.', 10, [paragraph('Ten'), list('-', undefined, [paragraph('Sub')])])]],
      ['- a\ngoes on\n* b', [list('-', undefined, [paragraph('a\ngoes on')]), list('*', undefined, [paragraph('b')])]],
      ['It began in\n1999. It was good', [paragraph('It began in\n1999. It was good')]],
      ['> - a\n>   b\nlast', [{ kind: 'quote', blocks: [list('-', undefined, [paragraph('a\nb\nlast')])] }]],
    ]
    for (const [text, blocks] of cases) assert.deepEqual(blocksOf(text), blocks, text)
  })

  test('code keeps its tabs, empty lines and indentation, even in a list', () => {
    const code = (text: string, language = '') => ({ kind: 'code', language, text })
    assert.deepEqual(blocksOf('```make\nall:\n\techo hi\n```'), [code('all:\n\techo hi', 'make')])
    const inList = '- Use this:\n\n  ```python\n  def f():\n    return 1\n\n\n  f()\n  ```\n\nThat is all.'
    const item = [paragraph('Use this:'), code('def f():\n  return 1\n\n\nf()', 'python')]
    assert.deepEqual(blocksOf(inList), [
      { kind: 'list', marker: '-', start: undefined, items: [item] },
      paragraph('That is all.'),
    ])
    assert.deepEqual(blocksOf('Run:\n\n    make\n\n    \tmake install\n\nDone'), [
      paragraph('Run:'),
      code('make\n\n\tmake install'),
      paragraph('Done'),
    ])
  })

  test('a heading can be underlined, and can contain a #', () => {
    const heading = (level: number, text: string) => ({ kind: 'heading', level, text })
    assert.deepEqual(blocksOf('Ropes\n=====\nOf\nnylon\n---\n## C# ##'), [
      heading(1, 'Ropes'),
      heading(2, 'Of\nnylon'),
      heading(2, 'C#'),
    ])
  })

  test('every text is parsed quickly', () => {
    const pieces = ['> ', '- ', '  ', '| ', '|-', '```\n', '#', '*', '_', '`', '[', '](', '1. ', '\n', '~', '\\', '>\n']
    const took = cpuTimeOf(() => {
      for (const piece of pieces) {
        for (const other of pieces) blocksOf((piece + other).repeat(20_000 / (piece.length + other.length)))
      }
    })
    const table = `a|\n${' '.repeat(20_000)}x`
    const tableTook = cpuTimeOf(() => blocksOf(table))
    assert.ok(tableTook < 100, `${tableTook} ms for a table that is none`)
    assert.ok(took < 20_000, `${took} ms for ${pieces.length ** 2} texts`)
  })
})

describe('answers in the console', { skip: withoutChromium() }, () => {
  let browser: ConsoleBrowser
  let service: Service
  before(async () => {
    service = await startService('sqlite')
    const rules = [
      { match: { equals: 'hostile' }, reply: HOSTILE },
      { match: { equals: 'long' }, reply: LONG },
    ]
    await createAgent(service, 'writer', { model: 'builtin/script', script: { rules, fallback: FRIENDLY } })
    browser = await openBrowser()
  })
  after(async () => {
    await browser.close()
    await service.stop()
  })

  const ask = async (message: string, session_id: string): Promise<string> => {
    const { body } = await service.call('POST', '/v1/agents/writer/invoke', {
      body: { message, context: { session_id } },
    })
    return body.data.request_id
  }
  const linksOf = (page: Page) =>
    page.locator('.markdown a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))

  test('are shown as markdown, or as plain text if the user chooses; the URL keeps the choice', async () => {
    await ask('friendly', 'friendly')
    const { page, leave } = await browser.visit(service, '/agents/writer?session=friendly')
    await page.getByRole('heading', { name: 'Ropes' }).waitFor()
    await page.getByRole('cell', { name: '12 mm' }).waitFor()
    assert.deepEqual(await page.locator('.markdown strong').allInnerTexts(), ['two', 'now'])
    assert.deepEqual(await page.locator('.markdown em').allInnerTexts(), ['gently', 'now'])
    assert.equal(await page.locator('.markdown p code').innerText(), 'as **--code** _x_')
    assert.equal(await page.locator('.markdown ol ul li').count(), 2)
    assert.match(await page.locator('.markdown p').first().innerText(), /2 \* 3 \* 4, snake_case_name/)
    assert.deepEqual(await linksOf(page), [
      'https://shop.example.com/ropes?a=1',
      'https://shop.example.com/all',
      'mailto:shop@example.com',
    ])
    assert.equal(await page.locator('.markdown a:not([rel="noopener noreferrer nofollow"])').count(), 0)
    await page.getByRole('button', { name: 'Copy sh' }).click()
    assert.equal(await page.getByText('moorage start <now>').count(), 1)
    await page.getByRole('button', { name: 'Show as plain text' }).click()
    await page.getByText('# Ropes').waitFor()
    assert.match(page.url(), /text=plain/)
    await page.reload()
    await page.getByText('# Ropes').waitFor()
    await page.getByRole('button', { name: 'Show Markdown' }).click()
    await page.getByRole('heading', { name: 'Ropes' }).waitFor()
    await leave()
  })

  test("can't inject HTML, in the playground or on the run's page", async () => {
    const request_id = await ask('hostile', 'hostile')
    const { page, leave } = await browser.visit(service, '/agents/writer?session=hostile')
    for (const path of ['/agents/writer?session=hostile', `/activity/${request_id}`]) {
      await page.goto(service.url + path)
      await page.locator('.markdown').getByText('onerror=').waitFor()
      for (const link of await page.locator('.markdown a').all()) await link.dispatchEvent('mouseover')
      assert.deepEqual(await linksOf(page), [
        'https://evil.example/pixel.png',
        'https://ok.example/',
        'https://ok.example/',
      ])
      const elements = await page
        .locator('.markdown *')
        .evaluateAll((all) => [...new Set(all.map(({ localName }) => localName))].toSorted())
      assert.deepEqual(
        elements.filter((name) => ['img', 'script', 'iframe', 'style', 'svg', 'b'].includes(name)),
        // The icon of the copy button.
        ['svg'],
      )
      const handlers = await page
        .locator('.markdown *')
        .evaluateAll((all) =>
          all.flatMap((one) => one.getAttributeNames().filter((name: string) => name.startsWith('on'))),
        )
      assert.deepEqual(handlers, [])
      assert.equal(await page.evaluate('globalThis.hacked'), undefined)
    }
    await leave()
  })

  test('a huge answer is displayed completely', async () => {
    await ask('long', 'long')
    const { page, leave } = await browser.visit(service, '/agents/writer?session=long')
    const text = (await page.locator('.markdown').textContent()) ?? ''
    assert.equal(text.split('[a](').length, LONG.split('[a](').length)
    await leave()
  })
})
