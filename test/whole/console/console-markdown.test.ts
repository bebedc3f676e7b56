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
Ask *gently*, \`as **--code** _x_\`, 2 * 3 * 4, snake_case_name.

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

/** Everything by which a text could become more than text. */
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

describe('the markdown of answers', () => {
  test('is read as people and models write it', () => {
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
    const paragraph = (text: string) => ({ kind: 'paragraph', level: 0, text })
    const inner = { kind: 'list', start: undefined, items: [[paragraph('with a knife')], [paragraph('twice')]] }
    assert.deepEqual(blocks[3], {
      kind: 'list',
      start: 1,
      items: [[paragraph('measure')], [paragraph('cut'), inner]],
    })
    assert.deepEqual(blocks[5], { kind: 'code', language: 'sh', text: 'moorage start <now>' })
  })

  test('code that has not ended yet is code', () => {
    assert.deepEqual(blocksOf('```js\nlet a'), [{ kind: 'code', language: 'js', text: 'let a' }])
  })

  test('no text takes long, or has no end', () => {
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
      { match: { equals: 'long' }, reply: `${'*_`[a]('.repeat(2_500)}` },
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

  test('are shown with their markdown; as they were written on demand, and the URL keeps that', async () => {
    await ask('friendly', 'friendly')
    const { page, leave } = await browser.visit(service, '/agents/writer?session=friendly')
    await page.getByRole('heading', { name: 'Ropes' }).waitFor()
    await page.getByRole('cell', { name: '12 mm' }).waitFor()
    assert.equal(await page.locator('.markdown strong').innerText(), 'two')
    assert.equal(await page.locator('.markdown em').innerText(), 'gently')
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
    await page.getByRole('button', { name: 'Show the markdown' }).click()
    await page.getByRole('heading', { name: 'Ropes' }).waitFor()
    await leave()
  })

  test('stay text, whatever they say: in the playground and on the page of the request', async () => {
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

  test('an answer that is made to be slow does not hold the page up', async () => {
    await ask('long', 'long')
    const { page, leave } = await browser.visit(service, '/agents/writer?session=long')
    await page.locator('.markdown').waitFor()
    await leave()
  })
})
