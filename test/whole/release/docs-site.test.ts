import assert from 'node:assert/strict'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, extname, join, normalize } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chromiumPath, startBrowser } from '../../support/console/chromium.ts'
import { run } from '../../support/house/deploy-files.ts'
import { ROOT } from '../../support/house/docs.ts'
import { startLocalServer } from '../../support/outside/local-server.ts'
import { until } from '../../support/running/until.ts'

const root = fileURLToPath(ROOT)
const chromium = chromiumPath()
const BASE = '/moorage/'
const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
}

/** What browsers load of a page by themselves. */
const LOADED =
  /<(?:script|img|iframe|source|video|audio)[^>]*\bsrc="([^"]*)"|<link[^>]*\bhref="([^"]*)"|url\(["']?([^"')]+)|@import/g

describe('npm run docs', () => {
  let site: string
  const pages = () => globSync('**/*.html', { cwd: site })
  const read = (file: string) => readFileSync(join(site, file), 'utf8')
  before(async () => {
    site = join(mkdtempSync(join(tmpdir(), 'moorage-docs-site-')), 'site')
    const env = { ...process.env, MOORAGE_DOCS_BASE: BASE, MOORAGE_REPOSITORY: '' }
    await run(process.execPath, [join(root, 'scripts/docs.mjs'), site], { cwd: root, env, maxBuffer: 1e8 })
  })
  after(() => rmSync(dirname(site), { recursive: true, force: true }))

  /** The file of the site to which a link of a page leads. */
  const fileOf = (page: string, link: string) => {
    const [path = ''] = link.split(/[#?]/)
    const file = path.startsWith('/')
      ? path.startsWith(BASE)
        ? path.slice(BASE.length)
        : '(outside)'
      : normalize(join(dirname(page), path))
    return path === '' ? page : file === '' || file === '.' || file.endsWith('/') ? join(file, 'index.html') : file
  }

  test('creates a page for every document, with a menu that lists all of them', () => {
    const documents = globSync(['docs/**/*.md', 'examples/**/README.md'], { cwd: root })
    for (const document of documents) {
      const page = document
        .replace(/^docs\//, '')
        .replace(/README\.md$/, 'index.md')
        .replace(/md$/, 'html')
      assert.ok(pages().includes(page), page)
      assert.ok(read('index.html').includes(`href="${BASE}${page.replace(/(?<=^|\/)index\.html$/, '')}"`), page)
    }
    assert.ok(documents.length > 60)
    assert.match(read('index.html'), /<h1[^>]*>Moorage/)
  })

  test('every link leads to a page of the site, and to a heading on it', () => {
    const dead: string[] = []
    let count = 0
    for (const page of pages()) {
      for (const [, link = ''] of read(page).matchAll(/<a\b[^>]*\bhref="([^"]*)"/g)) {
        if (/^(https?|mailto):/.test(link)) continue
        count += 1
        const file = fileOf(page, link)
        const anchor = link.split('#')[1]
        const isThere =
          existsSync(join(site, file)) &&
          statSync(join(site, file)).isFile() &&
          (!anchor || read(file).includes(`id="${decodeURIComponent(anchor)}"`))
        if (!isThere) dead.push(`${page}: ${link}`)
      }
    }
    assert.deepEqual([...new Set(dead)], [])
    assert.ok(count > 5_000, `${count} links`)
  })

  test('nothing is loaded from another host', () => {
    for (const file of globSync('**/*.{html,css}', { cwd: site })) {
      for (const [whole, ...found] of read(file).matchAll(LOADED)) {
        const url = found.find((one) => one !== undefined) ?? ''
        assert.ok(!/^(https?:)?\/\//.test(url) && whole !== '@import', `${file}: ${whole}`)
      }
    }
    assert.deepEqual(globSync('**/*.{woff,woff2,ttf}', { cwd: site }), [])
  })

  test('includes the OpenAPI document, and an index for language models', () => {
    assert.equal(JSON.parse(read('openapi.json')).openapi, '3.1.0')
    assert.match(read('reference/index.html'), /Invoke an agent/)
    const llms = read('llms.txt')
    const named = [...llms.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
    assert.ok(named.length > 60)
    for (const link of named) assert.ok(existsSync(join(site, fileOf('llms.txt', link))), link)
    assert.match(read('quick-start.md'), /^# Quick start/)
  })

  test('in a browser, it requests only its own host, can be searched, and can be dark', {
    skip: !chromium && 'there is no chromium on this machine',
  }, async (t) => {
    const server = await startLocalServer((request, response) => {
      const file = join(site, fileOf('', new URL(request.url ?? '', 'http://x').pathname))
      if (!existsSync(file)) return response.writeHead(404).end()
      response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' }).end(readFileSync(file))
    })
    t.after(server.close)
    const browser = await startBrowser(chromium ?? '')
    t.after(() => browser.close())
    for (const [name, options] of Object.entries({ desktop: { width: 1280, dark: true }, phone: { width: 390 } })) {
      const page = await browser.open(`${server.url}${BASE}agents.html`, options)
      const value = (expression: string) => page.evaluate(expression)
      await until('it is ready', async () => (await value(`!!document.querySelector('#local-search button')`)) === true)
      assert.equal(await value(`document.documentElement.classList.contains('dark')`), 'dark' in options, name)
      assert.equal(await value('document.documentElement.scrollWidth <= innerWidth'), true, `${name} is too wide`)
      await value(`document.querySelector('#local-search button').click()`)
      await until(
        'the search is open',
        async () => (await value(`!!document.querySelector('#localsearch-input')`)) === true,
      )
      await value(`(() => {
        const input = document.querySelector('#localsearch-input')
        input.value = 'idempotency'
        input.dispatchEvent(new Event('input'))
      })()`)
      await until(
        'it has found something',
        async () => Number(await value(`document.querySelectorAll('.result').length`)) > 3,
      )
      assert.deepEqual(page.problems, [], name)
      assert.deepEqual(
        page.requests.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:')),
        [],
      )
    }
  })
})
