import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { operations } from '../../../src/operations.ts'
import { type Browser, chromiumPath, startBrowser } from '../../support/console/chromium.ts'
import { type Service, startService } from '../../support/service/service.ts'

const chromium = chromiumPath()

describe('the API reference', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  test('needs no key, and sends each file with its media type', async () => {
    const types = {
      '/docs': 'text/html; charset=utf-8',
      '/docs/reference.css': 'text/css; charset=utf-8',
      '/docs/reference.js': 'text/javascript; charset=utf-8',
      '/docs/send.js': 'text/javascript; charset=utf-8',
      '/llms.txt': 'text/plain; charset=utf-8',
    }
    for (const [path, type] of Object.entries(types)) {
      const { status, headers } = await service.call('GET', path, { key: null })
      assert.deepEqual([path, status, headers.get('content-type')], [path, 200, type])
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
    }
    const { headers } = await service.call('GET', '/docs', { key: null })
    assert.match(
      headers.get('content-security-policy') ?? '',
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    )
  })

  test('refers to no files on other hosts', async () => {
    for (const path of ['/docs', '/docs/reference.css', '/docs/reference.js', '/docs/send.js']) {
      const { text } = await service.call('GET', path, { key: null })
      const loaded = text.match(/(?:src|href|action)="(?:https?:)?\/[^"]*"|url\([^)]*\)|@import/g)
      assert.deepEqual([path, loaded], [path, null])
    }
  })

  describe('in a browser', { skip: chromium ? false : 'Chromium is not installed' }, () => {
    let browser: Browser
    before(async () => {
      browser = await startBrowser(chromium ?? '')
    })
    after(() => browser.close())

    test('shows every operation, sends requests only to its own host, and logs no error', async () => {
      const page = await browser.open(`${service.url}/docs`)
      assert.equal(await page.evaluate("document.querySelectorAll('article').length"), operations.length)
      assert.equal(await page.evaluate("document.querySelectorAll('nav a[data-find]').length"), operations.length)
      assert.ok(await page.evaluate("document.querySelector('article').getBoundingClientRect().height > 100"))
      assert.equal(await page.evaluate("document.querySelector('[data-origin]').textContent"), service.url)
      const elsewhere = page.requests.filter((url) => !url.startsWith(`${service.url}/`) && !url.startsWith('data:'))
      assert.deepEqual(elsewhere, [])
      assert.ok(page.requests.includes(`${service.url}/docs/reference.js`))
      assert.deepEqual(page.problems, [])
    })

    test('search finds operations', async () => {
      const page = await browser.open(`${service.url}/docs`)
      const shown = (words: string) =>
        page.evaluate(`(() => {
          const search = document.getElementById('search')
          search.value = ${JSON.stringify(words)}
          search.dispatchEvent(new Event('input'))
          return [...document.querySelectorAll('article:not([hidden])')].map(({ id }) => id)
        })()`)
      assert.deepEqual(await shown('rotate key'), ['rotateKey'])
      assert.deepEqual(await shown('POST memory search'), ['searchMemory'])
      assert.deepEqual(await shown('nonsense'), [])
      assert.equal(await page.evaluate("document.getElementById('nothing').hidden"), false)
      assert.equal(((await shown('')) as string[]).length, operations.length)
    })

    test("is dark if the system prefers it, and remembers the user's choice", async () => {
      const background = 'getComputedStyle(document.body).backgroundColor'
      const dark = await browser.open(`${service.url}/docs`, { dark: true })
      assert.equal(await dark.evaluate(background), 'rgb(15, 22, 29)')
      await dark.evaluate("document.getElementById('theme').click()")
      assert.equal(await dark.evaluate(background), 'rgb(255, 255, 255)')
      const again = await browser.open(`${service.url}/docs`, { dark: true })
      assert.equal(await again.evaluate(background), 'rgb(255, 255, 255)')
    })

    test('fits on a phone', async () => {
      const page = await browser.open(`${service.url}/docs`, { width: 390 })
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
      const place = await page.evaluate(`(async () => {
        document.documentElement.style.scrollBehavior = 'auto'
        document.getElementById('createKey').scrollIntoView()
        for (let i = 0; i < 20; i++) await new Promise(requestAnimationFrame)
        return document.getElementById('createKey').getBoundingClientRect().top
      })()`)
      assert.ok(Math.abs(place as number) < 160, `the reader is ${place} pixels away`)
    })

    test('copies a sample unchanged', async () => {
      const page = await browser.open(`${service.url}/docs#getSelf`)
      const copied = await page.evaluate(`new Promise((resolve) => {
        navigator.clipboard.writeText = async (text) => resolve(text)
        document.querySelector('#getSelf .copy').click()
      })`)
      assert.equal(copied, 'curl "$MOORAGE_URL/v1/keys/self" \\\n  -H "Authorization: Bearer $MOORAGE_API_KEY"')
    })
  })
})
