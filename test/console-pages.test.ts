import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { type ConsoleBrowser, checkAccess, openBrowser, withoutChromium } from './support/console.ts'
import { fillForConsole, PAGES, SEED_SETTINGS } from './support/console-seed.ts'
import { filesOf } from './support/imports.ts'
import { type PrefixProxy, startPrefixProxy } from './support/prefix-proxy.ts'
import { type Service, startService } from './support/service.ts'

const BUILT = new URL('../dist/console/', import.meta.url)
const MOST_REQUESTS = 3

describe('the pages of the console', { skip: withoutChromium() }, () => {
  let browser: ConsoleBrowser
  let service: Service
  let proxy: PrefixProxy
  let paths: Awaited<ReturnType<typeof fillForConsole>>
  before(async () => {
    service = await startService('sqlite', SEED_SETTINGS)
    proxy = await startPrefixProxy(service.url, '/tools/moorage')
    paths = await fillForConsole(service, { perHour: 1 })
    browser = await openBrowser()
  })
  after(async () => {
    await browser.close()
    await proxy.close()
    await service.stop()
  })

  for (const name of PAGES) {
    test(`${name}: opens behind a prefix with ${MOST_REQUESTS} requests at most, nothing goes wrong, everybody can use it`, async () => {
      const { page, asked, settled, leave } = await browser.visit({ ...service, url: proxy.url }, paths[name])
      await page.locator('h1').waitFor()
      await settled()
      const requests = asked().filter((request) => request.includes('/v1/'))
      assert.ok(requests.length <= MOST_REQUESTS, requests.join('\n'))
      assert.equal(await page.locator('.failure').count(), 0)
      assert.match(await page.title(), /Moorage$/)
      await checkAccess(page)
      await leave()
    })
  }

  test('the first paint is told, and a page that is not there says so', async (t) => {
    const { page, leave } = await browser.visit(service, '/agents/support/nonsense')
    await page.getByText('There is no such page').waitFor()
    await page.goto(`${service.url}/`)
    await page.getByRole('link', { name: 'support' }).waitFor()
    const paint = await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`)
    t.diagnostic(`first paint after ${paint} ms`)
    assert.ok(Number(paint) > 0)
    await leave()
  })
})

describe('the size of the console', () => {
  const assets = new URL('assets/', BUILT)
  const packed = (file: string) => gzipSync(readFileSync(new URL(file, assets)), { level: 9 }).length

  test('is at most 40 KB of script at first, and 120 KB in all', () => {
    const page = readFileSync(new URL('index.html', BUILT), 'utf8')
    const first = [...page.matchAll(/assets\/([\w.-]+\.js)"/g)].map(([, file]) => file ?? '')
    const all = readdirSync(assets)
    const home = all.filter((file) => file.startsWith('agents-page'))
    assert.equal(home.length, 1)
    const sum = (files: string[]) => files.reduce((bytes, file) => bytes + packed(file), 0)
    assert.ok(first.length > 1 && sum([...first, ...home]) <= 40 * 1024, `${sum([...first, ...home])} bytes`)
    assert.ok(sum(all) <= 120 * 1024, `${sum(all)} bytes`)
  })

  test('a class is described in one file only: no page changes the look of another', () => {
    const folder = new URL('../console/css/', import.meta.url)
    const described = filesOf(fileURLToPath(folder), ['.css']).flatMap(({ text }) => {
      const names = text.matchAll(/^\.([\w-]+) \{/gm)
      return [...new Set([...names].map(([, name]) => name))]
    })
    const twice = described.filter((name, i) => described.indexOf(name) !== i)
    assert.ok(described.length > 50)
    assert.deepEqual(twice, [])
  })

  test('and the page has no script or style in itself', () => {
    const page = readFileSync(new URL('index.html', BUILT), 'utf8')
    assert.doesNotMatch(page, /<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|https?:/)
  })
})
